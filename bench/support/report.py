"""docs/benchmarks.md and its plots, from the samples in the JSON."""
import itertools
import re
from pathlib import Path
from statistics import median

import plot
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
        all_ = [(r, v, d) for r, v, d, ns in zip(cell["round"], cell[key], cell["disturbed"], lines)
                if place is None or PLACES[place](ns)]
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


# ---- What was to be shown --------------------------------------------------------------------------------------------


def targets(c):
    """[(row, what, where, figure, target, holds)]; `holds` None where a figure is only told."""
    out = []

    def add(row, what, where, f, least=None, most=None, text=None):
        if f is None:
            return
        holds = None if least is None and most is None else (f[0] >= least if least is not None else f[0] <= most)
        target = text or (f">= {least}" if least is not None else f"<= {most}" if most is not None else "")
        out.append((row, what, where, figure(f), target, holds))

    # e: MpmcRing
    for place, capacity, threads in itertools.product(c.places, (16, 1024), THREADS[1:]):
        s = f"/u64/{shape(threads, capacity, 0)}"
        ours = "try/MpmcRing" + s
        where = f"{threads}, {capacity}, {place}"
        against = lambda peer: c.ratio(ours, f"try/{peer}{s}", place=place)
        add("e", "MpmcRing / boost::lockfree::queue", where, against("boost_queue"), 2)
        scq = c.ratio("try/scq" + s, "try/boost_queue" + s, place=place)
        if scq:
            counts = scq[0] >= 1
            add("e", "MpmcRing / SCQ" + ("" if counts else " (below boost: does not count)"), where, against("scq"),
                1.3 if counts else None)
        add("e", "MpmcRing / xenium Vyukov, strong (blocking)", where, against("xenium_vyukov_strong"), 0.8)
        add("e", "MpmcRing / xenium Vyukov, weak (blocking)", where, against("xenium_vyukov_weak"), text="as it is")
        add("e", "MpmcRing / turn queue (blocking)", where, against("turn_queue"), text="as it is")
    for work, what in ((20, "share of the ideal, 20 us of work"), (2, "against the best bounded peer, 2 us of work")):
        for capacity in (16, 1024):
            for threads in THREADS[1:]:
                s = f"/u64/{shape(threads, capacity, work)}"
                if work == 20:
                    f = c.ratio("try/MpmcRing" + s, f"ideal/no_queue/none/{shape(threads, 1024, work)}")
                else:
                    best = c.best([n for n in c.names("try/.*" + re.escape(s)) if not re.search(
                        "MpmcRing|unbounded|b2_4096", n)])
                    f = c.ratio("try/MpmcRing" + s, best) if best else None
                add("e", "MpmcRing: " + what, f"{threads}, {capacity}", f, 0.95)
    # f
    for place, capacity in itertools.product(c.places, (16, 1024)):
        s = f"/u64/{shape('1P1C', capacity, 0)}"
        best = c.best(["spsc/cached_ring" + s, "spsc/boost_spsc" + s], place)
        ours = c.best(["spsc/SpscRing" + s, "spsc/SpscRing_in_place" + s], place)
        if best and ours:
            add("f", f"{short(ours.split('/')[1])} / {short(best.split('/')[1])} (best peer)",
                f"1P1C, {capacity}, {place}", c.ratio(ours, best, place=place), 0.9)
    for name in c.names("uncontended/ReorderRing.*"):
        add("f", "ReorderRing publish + take, ns", "/".join(name.split("/")[2:]),
            c.summary(name, scale=1e9, inverse=True), most=20)
    for work, least in ((20, 0.9), (2, 1.5)):
        for capacity in (16, 1024):
            for threads in THREADS:
                s = f"/u64/{shape(threads, capacity, work)}"
                ours = "blocking/Blocking_MpmcRing" + s
                if work == 20:
                    f = c.ratio(ours, f"ideal/no_queue/none/{shape(threads, 1024, work)}")
                    cpu = c.summary(ours, "cpu_ns", 1e-3)
                    add("f", f"Blocking<MpmcRing>: share of the ideal, 20 us; processor time {number(cpu[0])} us an item"
                        if cpu else "", f"{threads}, {capacity}", f, least)
                else:
                    add("f", "Blocking<MpmcRing> / moodycamel's blocking queue (unbounded), 2 us", f"{threads}, {capacity}",
                        c.ratio(ours, "blocking/moodycamel_blocking_unbounded" + s), least)
                    add("f", "the same / moodycamel's made bounded by a semaphore", f"{threads}, {capacity}",
                        c.ratio(ours, "blocking/moodycamel_blocking_bounded" + s), text="as it is")
                    add("f", "the same, share of the ideal", f"{threads}, {capacity}",
                        c.ratio(ours, f"ideal/no_queue/none/{shape(threads, 1024, work)}"), text="as it is")
    # g
    for kind, flight in (("empty", 64), ("slow", 4096)):
        pipeline = f"dispatch/tbb_pipeline/in_flight:{flight}/{kind}"
        for engine in ("engine_2_workers", "engine_1_worker_and_consumer"):
            for batch, most in ((1, 3), (8, 1.5), (32, 1.5)):
                for name in c.names(f"dispatch/{engine}/batch:{batch}/window:.*/{kind}"):
                    add("g", f"time of an item, {short(engine)} / tbb::parallel_pipeline, {kind}",
                        f"batch {batch}", c.ratio(name, pipeline, inverse=True), most=most)
    for name in sorted(c.names("skewed/engine.*")):
        _, engine, batch, window = name.split("/")
        bound = c.summary(name, "of_bound")
        add("g", f"skewed items, {short(engine)}: share of the greedy schedule (of the makespan bound: {number(bound[0])})"
            if bound else "", f"{batch.replace(':', ' ')}, {window.replace(':', ' ')}", c.summary(name, "of_greedy"), 0.97)
    for name in sorted(c.names("patches/.*")):
        parts = name.split("/")
        ours = parts[1].startswith("engine")
        add("g", f"items of 8 patches, {short(parts[1])}: share of the makespan bound",
            ", ".join(p.replace(":", " ") for p in parts[2:]), c.summary(name, "of_bound"), 0.95 if ours else None,
            text=None if ours else "a peer")
    # h
    add("h", "seeding an item's stream, ns", "", c.summary("random/seed_a_stream", scale=1e9, inverse=True), most=5)
    for ours, peer, least in (("fill_uniform", "peer_uniform_mt19937", 4), ("fill_normal", "peer_normal_distribution", 3)):
        add("h", f"{ours} / {peer.replace('peer_', '')}", "", c.ratio(f"random/{ours}", f"random/{peer}"), least)
    for ours, peer in (("fill_uniform", "peer_uniform_mt19937_by_hand"), ("philox_block", "peer_random123_block"),
                       ("fill_uniform", "peer_uniform_random123")):
        add("h", f"{ours} / {peer.replace('peer_', '')}", "", c.ratio(f"random/{ours}", f"random/{peer}"), text="as it is")
    return out


# ---- Tables and plots ------------------------------------------------------------------------------------------------


def rows_of(c, pattern, key="rate", scale=1.0, inverse=False, falling=True, label=lambda n: short(n.split("/")[1]),
            place=None):
    rows = []
    for name in c.names(pattern):
        s = c.summary(name, key, scale, inverse, place)
        if s:
            rows.append((label(name), kind_of(name.split("/")[1]), *s))
    return sorted(rows, key=lambda r: r[2], reverse=falling)


def share_rows(c, pattern, ideal):
    rows = []
    for name in c.names(pattern):
        f = c.ratio(name, ideal)
        if f:
            rows.append((short(name.split("/")[1]), kind_of(name.split("/")[1]), *f))
    return sorted(rows, key=lambda r: r[2], reverse=True)


def plots(c):
    """{file name: (svg, caption)}"""
    out = {}

    def add(name, caption, *args, **kwargs):
        if any(rows for _, rows in args[2]):
            out[name] = (plot.bars(*args, **kwargs), caption)

    mpmc = lambda t, cap, work: f"try/.*/u64/{shape(t, cap, work)}"
    add("queues.svg", "Queues between many threads, nothing but the hand-over. One retry for all: 64 pauses, then yield. "
        "The Vyukov, turn and atomic_queue queues block when a thread stalls inside; moodycamel's has no bound and no order "
        "between producers; atomic_queue_b2 holds 4,096 whatever is asked for.",
        "Queues that try, u64, pinned", "million items per second",
        [(f"{t}, capacity {cap}, {place}", rows_of(c, mpmc(t, cap, 0), scale=1e-6, place=place))
         for place in c.places for cap in (16, 1024) for t in THREADS[1:]])
    add("queues_with_work.svg", "The same with 2 and 20 us of work for each item, as a share of what the same producers reach "
        "without any queue.", "Queues that try, with work: share of the ideal", "1 = ideal",
        [(f"{work} us, {t}, capacity {cap}", share_rows(c, mpmc(t, cap, work), f"ideal/no_queue/none/{shape(t, 1024, work)}"))
         for work in (20, 2) for cap in (16, 1024) for t in THREADS[1:]])
    add("blocking.svg", "Queues that wait by themselves, with work, as a share of the ideal.",
        "Queues that wait: share of the ideal", "1 = ideal",
        [(f"{work} us, {t}, capacity {cap}", share_rows(c, f"blocking/.*/u64/{shape(t, cap, work)}",
                                                      f"ideal/no_queue/none/{shape(t, 1024, work)}"))
         for work in (20, 2) for cap in (16, 1024) for t in THREADS], columns=3)
    add("blocking_cpu.svg", "What they cost in processor time: the work itself is 20 us (2 us) of it.",
        "Queues that wait: processor time of an item", "us, all threads together",
        [(f"{work} us, {t}, capacity 1024", rows_of(c, f"blocking/.*/u64/{shape(t, 1024, work)}", "cpu_ns", 1e-3,
                                                  falling=False)) for work in (20, 2) for t in THREADS], columns=3)
    add("spsc.svg", "One producer, one consumer, nothing but the hand-over. The cached ring is of rigtorp's kind and cannot be "
        "closed.", "Rings for one producer and one consumer, pinned", "million items per second",
        [(f"{payload}, capacity {cap}, {place}",
          rows_of(c, f"spsc/.*/{payload}/{shape('1P1C', cap, 0)}", scale=1e-6, place=place))
         for payload in ("u64", "handle") for place in c.places for cap in (16, 1024)])
    for rhythm, text in (("busy", "an item every 3 us"), ("asleep", "an item every 200 us, the consumer asleep")):
        add(f"latency_{rhythm}.svg", f"From hand to hand, {text}, one producer and one consumer, capacity 16.",
            f"Hand-off latency: {text}", "ns, logarithmic",
            [(q, rows_of(c, f"latency/.*/u64/{rhythm}", key, falling=False))
             for q, key in (("median", "p50_ns"), ("99th percentile", "p99_ns"), ("99.9th", "p999_ns"))],
            log=True, columns=3)
    add("uncontended.svg", "One thread alone: a push and a pop, a publication and a take, an acquire and a release.",
        "Uncontended operations", "ns",
        [("pair of operations", rows_of(c, "uncontended/.*", scale=1e9, inverse=True, falling=False,
                                        label=lambda n: short(" ".join(n.split("/")[1:])[:34])))], columns=1)
    label = lambda n: short(" ".join(p for p in n.split("/")[1:-1] if "window" not in p)).replace("engine ", "").replace(
        " and consumer", " + consumer").replace("in flight:", "")
    for row in ("empty", "slow"):
        text = "empty items" if row == "empty" else "a 300 us item among 4,096 empty ones, all in flight"
        add(f"dispatch_{row}.svg", f"Time of an item through the engine and oneTBB, in order, {text}.",
            f"Dispatch, in order: {text}", "ns per item",
            [("2 threads (engine: also 2 workers and a consumer)", [
                (l, kind_of(n.split("/")[1]), *s) for n in c.names(f"dispatch/.*/{row}")
                for l, s in [(label(n), c.summary(n, scale=1e9, inverse=True))] if s])], columns=1)
    labels = lambda n: short(" ".join(n.split("/")[1:])).replace("engine ", "").replace(" and consumer", " + cons.").replace(
        "batch:", "b").replace("window:", "w").replace("in flight:", "")
    for group, key, target, text in (
            ("skewed", "of_greedy", 0.97, "share of the greedy schedule under the same window"),
            ("patches", "of_bound", 0.95, "share of the makespan bound, items of 8 patches")):
        add(f"{group}.svg", f"Lognormal costs (sigma 1.2, median 200 us), in order, 2 processors: {text}.",
            f"Skewed items: {text}", "1 = as good as it can be",
            [(t, rows_of(c, f"{group}/{p}/.*", key, label=labels)) for t, p in (
                ("1 worker and a helping consumer", "engine_1_worker_and_consumer"), ("2 workers", "engine_2_workers"),
                ("2 workers and a helping consumer", "engine_2_workers_and_consumer"), ("oneTBB", "tbb.*"))], target=target)
    add("random.svg", "Filling 65,536 floats, and making streams.", "Random numbers", "ns per number or stream",
        [(t, sorted([(short(n.split("/")[1].replace("peer_", "")), "peer" if "peer" in n else "ours", *s) for n in c.names(p)
                     for s in [c.summary(n, scale=1e9, inverse=True)] if s], key=lambda r: r[2]))
         for t, p in (("uniform floats", "random/.*uniform.*"), ("normal floats", "random/.*normal.*"),
                      ("streams and blocks", "random/.*(seed|block).*"))])
    return out


def throughput_table(c, group, payload, capacity, work, placement="pinned"):
    queues = sorted({n.split("/")[1] for n in c.names(f"{group}/.*/{payload}/.*cap:{capacity}/work:{work}us/{placement}")},
                    key=lambda q: (kind_of(q) != "ours", q))
    threads = [t for t in THREADS if c.names(f"{group}/.*/{payload}/{shape(t, capacity, work, placement)}")]
    if not queues:
        return []
    # The place matters where there is nothing but the hand-over, between processors.
    places = c.places if work == 0 and placement == "pinned" and c.places else [None]
    columns = [(t, place) for t in threads for place in places]
    scale, unit = (1e-6, "M/s") if work == 0 else (1e-3, "k/s")
    lines = [f"| {group}, {payload}, capacity {capacity}, {work} us, {placement.replace('_', ' ')}; {unit} | "
             + " | ".join(f"{t} {place or ''}" for t, place in columns) + " |", "| --- |" + " ---: |" * len(columns)]
    for q in queues:
        cells = []
        for t, place in columns:
            s = c.summary(f"{group}/{q}/{payload}/{shape(t, capacity, work, placement)}", scale=scale, place=place)
            cells.append("" if s is None else f"**{number(s[0])}** ({number(s[1])}-{number(s[2])})")
        lines.append(f"| {q} | " + " | ".join(cells) + " |")
    return lines + [""]


def machine_text(m):
    packages = ", ".join(f"{k} {v}" for k, v in m["packages"].items())
    return [f"* {m['processor']}, {m['processors']} processors{' (virtual)' if m['virtual'] else ''}, "
            f"{', '.join(m['caches'])}, {m['memory_gb']} GB, vectors {', '.join(m['vectors'])}; governor {m['governor']}, "
            f"clock {m['clock']}.",
            f"* {m['system']}, Linux {m['kernel']}, {m['compiler']}, `{m['flags']}`.", f"* Packages: {packages}.", ""]


def write(data, docs):
    """Writes docs/benchmarks.md and docs/benchmarks/*.svg; the files written."""
    c = Cells(data)
    folder = Path(docs) / "benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    lines = ["# Benchmarks", "",
             "Made by `bench/run` from [`benchmarks/results.json`](benchmarks/results.json); how it measures is told at the "
             "end. A figure is the median of fresh processes with the lowest and the highest; ratios are taken round by "
             "round, their median and range told. **Absolute figures are this machine's; between two rows whose ranges "
             "overlap nothing is claimed.**", ""]
    lines += machine_text(data["machine"])
    runs = [f"{r['date']}: {r['samples']} samples in {r['minutes']} min, {r['taken_again']} taken again because others "
            "used the machine" for r in data["runs"] if r.get("samples") is not None]
    kept = sum(sum(cell["disturbed"]) for cell in data["cells"].values())
    lines += ["* " + "; ".join(runs) + f". {kept} disturbed samples are in the JSON and left out where there are others.", ""]
    if c.places:
        lines += ["* A cache line goes to the other processor and back in " + " or ".join(
            f"{c.lines[p]:.0f} ns (**{p}**)" for p in c.places) + ": the host moves the machine's processors between the "
            "threads of one core and two cores. It is measured before every sample, and where only the hand-over is "
            "timed, samples of the two kinds are not mixed.", ""]
    lines += ["## What was to be shown, and what came out", "",
              "| row | what | where | figure | target | holds |", "| --- | --- | --- | ---: | --- | --- |"]
    for row, what, where, f, target, holds in targets(c):
        lines.append(f"| {row} | {what} | {where} | {f} | {target} | {'' if holds is None else 'yes' if holds else '**no**'} |")
    lines.append("")
    overtaken = {n.split("/")[1]: 0 for n, cell in c.cells.items() if sum(cell.get("overtaken", []))}
    for n, cell in c.cells.items():
        if n.split("/")[1] in overtaken:
            overtaken[n.split("/")[1]] += int(sum(cell.get("overtaken", [])))
    if overtaken:
        lines += ["Items of one producer that a consumer received after a later one of the same producer (a queue that keeps "
                  "the order has none, and every queue not named here is checked for it): "
                  + ", ".join(f"{short(q)} {n}" for q, n in sorted(overtaken.items())) + ".", ""]
    lines += ["## Plots", ""]
    for name, (svg, caption) in plots(c).items():
        (folder / name).write_text(svg)
        written.append(folder / name)
        lines += [f"![{caption}](benchmarks/{name})", "", caption, ""]
    lines += ["## Throughput, all cells", ""]
    for group, payload in (("try", "u64"), ("spsc", "u64"), ("blocking", "u64"), ("try", "handle"), ("spsc", "handle"),
                           ("blocking", "handle")):
        for placement in ("pinned", "one_cpu"):
            for work in (0, 2, 20):
                for capacity in (1024, 16, 2):
                    lines += throughput_table(c, group, payload, capacity, work, placement)
    lines += METHOD
    page = Path(docs) / "benchmarks.md"
    page.write_text("\n".join(lines) + "\n")
    return written + [page]


METHOD = """## How it is measured

* `bench_queues`: threads are made and parked before the clock starts; the time is from the first one's start to the last
  one's end. Pinned: producer i on processor i, consumer i on processor i + 1, modulo their number, so 2P2C on two
  processors has four threads on two. `one_cpu`: all on one. Queues that only try are driven by one retry: 64 pauses, then
  `sched_yield`. Each producer does its work (a loop that no compiler removes; its length is measured once per run and the
  same in all processes) before each push. The ideal is the same producers' work without queue and consumers.
* Every number must arrive (sums), and every consumer must see each producer's items in their order; else the process ends
  with an error. (atomic_queue's do not keep the order when a consumer is suspended; there it is counted.) Handles are move-only pointers with nothing to free. Boost's queues carry the bare pointer.
* `bench_dispatch`: the engine, `tbb::parallel_pipeline` and `tbb::flow` with a limiter and a sequencer, each on two
  threads, with the same number of items in flight; order and every part checked. The greedy schedule is simulated from the
  same costs (`bench/runtime/greedy.hpp`) with the same window and the same threads: a helping consumer takes work only of
  the step it waits for, as the engine's does; more threads than processors share them evenly. The cost of a unit of work is
  its processor time while both processors work, measured just before each run.
* `random_bench`: 65,536 floats into one buffer; what is made is checked against single draws and for mean and spread.
* A sample is a fresh process of at least 0.05 s. Comparisons come in random order, and so do the candidates in each, round
  after round. A sample during which others used more than 0.15 of a processor (or a hypervisor took it) is taken again.
* To repeat: `tools/install_packages all`, build the preset `release`, `bench/run`. Peers: `libconcurrentqueue-dev
  libboost-dev libatomic-queue-dev libxenium-dev librandom123-dev`; one that is absent is left out.
""".split("\n")
