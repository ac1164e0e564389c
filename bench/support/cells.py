"""The samples of a run, by name of cell; medians, ranges and ratios."""

import re
from statistics import median

from plot import number

THREADS = ("1P1C", "2P2C", "4P4C")


# The processors of a virtual machine are two threads of one core now and two cores a minute later, and a cache line
# takes another time between them: samples are told apart by that time, measured just before each.
PLACES = {"near": lambda ns: ns < 150, "far": lambda ns: ns >= 150}


class Cells:
    def __init__(self, data):
        self.cells = data["cells"]
        lines = [ns for cell in self.cells.values() for ns in cell.get("line_ns", []) if ns > 0]
        self.places = [p for p, holds in PLACES.items() if any(map(holds, lines))]
        self.lines = {p: median(filter(PLACES[p], lines)) for p in self.places}

    def names(self, pattern):
        return [n for n in self.cells if re.fullmatch(pattern, n)]

    def values(self, name, key="rate", place=None):
        """By round; samples during which others worked only where there are no others."""
        cell = self.cells.get(name)
        if cell is None or key not in cell:
            return {}
        lines = cell.get("line_ns", [0] * len(cell["round"]))
        all_ = [
            (r, v, d)
            for r, v, d, ns in zip(cell["round"], cell[key], cell["disturbed"], lines)
            if place is None or PLACES[place](ns)
        ]
        quiet = {r: v for r, v, d in all_ if not d}
        return quiet or {r: v for r, v, _ in all_}

    def summary(self, name, key="rate", scale=1.0, inverse=False, place=None):
        values = self.values(name, key, place).values()
        values = [(scale / v if inverse else scale * v) for v in values if v or not inverse]
        return (median(values), min(values), max(values)) if values else None

    def ratio(self, a, b, key="rate", inverse=False, place=None):
        """a / b round by round (where they have a round in common): median, lowest, highest."""
        x, y = self.values(a, key, place), self.values(b, key, place)
        rounds = sorted(set(x) & set(y))
        pairs = [(x[r], y[r]) for r in rounds] or ([(median(x.values()), median(y.values()))] if x and y else [])
        ratios = [(q / p if inverse else p / q) for p, q in pairs if p and q]
        return (median(ratios), min(ratios), max(ratios)) if ratios else None

    def best(self, names, place=None):
        """The candidate with the highest median."""
        there = [(self.summary(n, place=place)[0], n) for n in names if self.values(n, place=place)]
        return max(there)[1] if there else None


def shape(threads, capacity, work, placement="pinned"):
    return f"{threads}/cap:{capacity}/work:{work}us/{placement}"


def figure(f):
    return "-" if f is None else f"{number(f[0])} [{number(f[1])} to {number(f[2])}]"


def kind_of(name):
    own = ("MpmcRing", "SpscRing", "Blocking", "ReorderRing", "SlabPool", "EventCount", "engine", "headrace")
    return "ours" if name.startswith(own) else "peer"


def short(name):
    return name.replace("_", " ")
