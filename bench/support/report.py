"""docs/benchmarks.md and its plots, from the samples in the JSON."""

from pathlib import Path

import plot
from cells import THREADS, Cells, kind_of, shape, short
from plot import number
from targets import targets


def rows_of(
    c, pattern, key="rate", scale=1.0, inverse=False, falling=True, label=lambda n: short(n.split("/")[1]), place=None
):
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
    add(
        "queues.svg",
        "Queues between many threads, nothing but the hand-over. One retry for all: 64 pauses, then yield. "
        "The Vyukov, turn and atomic_queue queues block when a thread stalls inside; moodycamel's has no bound and no "
        "order between producers; atomic_queue_b2 holds 4,096 whatever is asked for.",
        "Queues that try, u64, pinned",
        "million items per second",
        [
            (f"{t}, capacity {cap}, {place}", rows_of(c, mpmc(t, cap, 0), scale=1e-6, place=place))
            for place in c.places
            for cap in (16, 1024)
            for t in THREADS[1:]
        ],
    )
    add(
        "queues_with_work.svg",
        "The same with 2 and 20 us of work for each item, as a share of what the same producers reach "
        "without any queue.",
        "Queues that try, with work: share of the ideal",
        "1 = ideal",
        [
            (
                f"{work} us, {t}, capacity {cap}",
                share_rows(c, mpmc(t, cap, work), f"ideal/no_queue/none/{shape(t, 1024, work)}"),
            )
            for work in (20, 2)
            for cap in (16, 1024)
            for t in THREADS[1:]
        ],
    )
    add(
        "blocking.svg",
        "Queues that wait by themselves, with work, as a share of the ideal.",
        "Queues that wait: share of the ideal",
        "1 = ideal",
        [
            (
                f"{work} us, {t}, capacity {cap}",
                share_rows(c, f"blocking/.*/u64/{shape(t, cap, work)}", f"ideal/no_queue/none/{shape(t, 1024, work)}"),
            )
            for work in (20, 2)
            for cap in (16, 1024)
            for t in THREADS
        ],
        columns=3,
    )
    add(
        "blocking_cpu.svg",
        "What they cost in processor time: the work itself is 20 us (2 us) of it.",
        "Queues that wait: processor time of an item",
        "us, all threads together",
        [
            (
                f"{work} us, {t}, capacity 1024",
                rows_of(c, f"blocking/.*/u64/{shape(t, 1024, work)}", "cpu_ns", 1e-3, falling=False),
            )
            for work in (20, 2)
            for t in THREADS
        ],
        columns=3,
    )
    add(
        "spsc.svg",
        "One producer, one consumer, nothing but the hand-over. The cached ring is of rigtorp's kind and cannot be "
        "closed.",
        "Rings for one producer and one consumer, pinned",
        "million items per second",
        [
            (
                f"{payload}, capacity {cap}, {place}",
                rows_of(c, f"spsc/.*/{payload}/{shape('1P1C', cap, 0)}", scale=1e-6, place=place),
            )
            for payload in ("u64", "handle")
            for place in c.places
            for cap in (16, 1024)
        ],
    )
    for rhythm, text in (("busy", "an item every 3 us"), ("asleep", "an item every 200 us, the consumer asleep")):
        add(
            f"latency_{rhythm}.svg",
            f"From hand to hand, {text}, one producer and one consumer, capacity 16.",
            f"Hand-off latency: {text}",
            "ns, logarithmic",
            [
                (q, rows_of(c, f"latency/.*/u64/{rhythm}", key, falling=False))
                for q, key in (("median", "p50_ns"), ("99th percentile", "p99_ns"), ("99.9th", "p999_ns"))
            ],
            log=True,
            columns=3,
        )
    add(
        "uncontended.svg",
        "One thread alone: a push and a pop, a publication and a take, an acquire and a release.",
        "Uncontended operations",
        "ns",
        [
            (
                "pair of operations",
                rows_of(
                    c,
                    "uncontended/.*",
                    scale=1e9,
                    inverse=True,
                    falling=False,
                    label=lambda n: short(" ".join(n.split("/")[1:])[:34]),
                ),
            )
        ],
        columns=1,
    )
    label = (
        lambda n: short(" ".join(p for p in n.split("/")[1:-1] if "window" not in p))
        .replace("engine ", "")
        .replace(" and consumer", " + consumer")
        .replace("in flight:", "")
    )
    for row in ("empty", "slow"):
        text = "empty items" if row == "empty" else "a 300 us item among 4,096 empty ones, all in flight"
        add(
            f"dispatch_{row}.svg",
            f"Time of an item through the engine and oneTBB, in order, {text}.",
            f"Dispatch, in order: {text}",
            "ns per item",
            [
                (
                    "2 threads (engine: also 2 workers and a consumer)",
                    [
                        (l, kind_of(n.split("/")[1]), *s)
                        for n in c.names(f"dispatch/.*/{row}")
                        for l, s in [(label(n), c.summary(n, scale=1e9, inverse=True))]
                        if s
                    ],
                )
            ],
            columns=1,
        )
    labels = (
        lambda n: short(" ".join(n.split("/")[1:]))
        .replace("engine ", "")
        .replace(" and consumer", " + cons.")
        .replace("batch:", "b")
        .replace("window:", "w")
        .replace("in flight:", "")
    )
    for group, key, target, text in (
        ("skewed", "of_greedy", 0.97, "share of the greedy schedule under the same window"),
        ("patches", "of_bound", 0.95, "share of the makespan bound, items of 8 patches"),
    ):
        add(
            f"{group}.svg",
            f"Lognormal costs (sigma 1.2, median 200 us), in order, 2 processors: {text}.",
            f"Skewed items: {text}",
            "1 = as good as it can be",
            [
                (t, rows_of(c, f"{group}/{p}/.*", key, label=labels))
                for t, p in (
                    ("1 worker and a helping consumer", "engine_1_worker_and_consumer"),
                    ("the same, helping ahead", "engine_1_worker_and_consumer_ahead"),
                    ("2 workers", "engine_2_workers"),
                    ("2 workers and a helping consumer", "engine_2_workers_and_consumer"),
                    ("oneTBB", "tbb.*"),
                )
            ],
            target=target,
        )
    add(
        "random.svg",
        "Filling 65,536 floats, and making streams.",
        "Random numbers",
        "ns per number or stream",
        [
            (
                t,
                sorted(
                    [
                        (short(n.split("/")[1].replace("peer_", "")), "peer" if "peer" in n else "ours", *s)
                        for n in c.names(p)
                        for s in [c.summary(n, scale=1e9, inverse=True)]
                        if s
                    ],
                    key=lambda r: r[2],
                ),
            )
            for t, p in (
                ("uniform floats", "random/.*uniform.*"),
                ("normal floats", "random/.*normal.*"),
                ("streams and blocks", "random/.*(seed|block).*"),
            )
        ],
    )
    return out


def throughput_table(c, group, payload, capacity, work, placement="pinned"):
    queues = sorted(
        {n.split("/")[1] for n in c.names(f"{group}/.*/{payload}/.*cap:{capacity}/work:{work}us/{placement}")},
        key=lambda q: (kind_of(q) != "ours", q),
    )
    threads = [t for t in THREADS if c.names(f"{group}/.*/{payload}/{shape(t, capacity, work, placement)}")]
    if not queues:
        return []
    # The place matters where there is nothing but the hand-over, between processors.
    places = c.places if work == 0 and placement == "pinned" and c.places else [None]
    columns = [(t, place) for t in threads for place in places]
    scale, unit = (1e-6, "M/s") if work == 0 else (1e-3, "k/s")
    lines = [
        f"| {group}, {payload}, capacity {capacity}, {work} us, {placement.replace('_', ' ')}; {unit} | "
        + " | ".join(f"{t} {place or ''}" for t, place in columns)
        + " |",
        "| --- |" + " ---: |" * len(columns),
    ]
    for q in queues:
        cells = []
        for t, place in columns:
            s = c.summary(f"{group}/{q}/{payload}/{shape(t, capacity, work, placement)}", scale=scale, place=place)
            cells.append("" if s is None else f"**{number(s[0])}** ({number(s[1])}-{number(s[2])})")
        lines.append(f"| {q} | " + " | ".join(cells) + " |")
    return lines + [""]


def machine_text(m):
    packages = ", ".join(f"{k} {v}" for k, v in m["packages"].items())
    return [
        f"* {m['processor']}, {m['processors']} processors{' (virtual)' if m['virtual'] else ''}, "
        f"{', '.join(m['caches'])}, {m['memory_gb']} GB, vectors {', '.join(m['vectors'])}; governor {m['governor']}, "
        f"clock {m['clock']}.",
        f"* {m['system']}, Linux {m['kernel']}, {m['compiler']}, `{m['flags']}`.",
        f"* Packages: {packages}.",
        "",
    ]


def write(data, docs):
    """Writes docs/benchmarks.md and docs/benchmarks/*.svg; the files written."""
    c = Cells(data)
    folder = Path(docs) / "benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    lines = [
        "# Benchmarks",
        "",
        "Made by `bench/run` from [`benchmarks/results.json`](benchmarks/results.json); how it measures is told at the "
        "end. A figure is the median of fresh processes with the lowest and the highest; ratios are taken round by "
        "round, their median and range told. **Absolute figures are this machine's; between two rows whose ranges "
        "overlap nothing is claimed.**",
        "",
    ]
    lines += machine_text(data["machine"])
    runs = [
        f"{r['date']}: {r['samples']} samples in {r['minutes']} min, {r['taken_again']} taken again because others "
        "used the machine"
        for r in data["runs"]
        if r.get("samples") is not None
    ]
    kept = sum(sum(cell["disturbed"]) for cell in data["cells"].values())
    lines += [
        "* " + "; ".join(runs) + f". {kept} disturbed samples are in the JSON and left out where there are others.",
        "",
    ]
    if c.places:
        lines += [
            "* A cache line goes to the other processor and back in "
            + " or ".join(f"{c.lines[p]:.0f} ns (**{p}**)" for p in c.places)
            + ": the host moves the machine's processors between the "
            "threads of one core and two cores. It is measured before every sample, and where only the hand-over is "
            "timed, samples of the two kinds are not mixed.",
            "",
        ]
    lines += [
        "## What was to be shown, and what came out",
        "",
        "| row | what | where | figure | target | holds |",
        "| --- | --- | --- | ---: | --- | --- |",
    ]
    for row, what, where, f, target, holds in targets(c):
        lines.append(
            f"| {row} | {what} | {where} | {f} | {target} | {'' if holds is None else 'yes' if holds else '**no**'} |"
        )
    lines.append("")
    overtaken = {n.split("/")[1]: 0 for n, cell in c.cells.items() if sum(cell.get("overtaken", []))}
    for n, cell in c.cells.items():
        if n.split("/")[1] in overtaken:
            overtaken[n.split("/")[1]] += int(sum(cell.get("overtaken", [])))
    if overtaken:
        lines += [
            "Items of one producer that a consumer received after a later one of the same producer (a queue that keeps "
            "the order has none, and every queue not named here is checked for it): "
            + ", ".join(f"{short(q)} {n}" for q, n in sorted(overtaken.items()))
            + ".",
            "",
        ]
    lines += ["## Plots", ""]
    for name, (svg, caption) in plots(c).items():
        (folder / name).write_text(svg)
        written.append(folder / name)
        lines += [f"![{caption}](benchmarks/{name})", "", caption, ""]
    lines += ["## Throughput, all cells", ""]
    for group, payload in (
        ("try", "u64"),
        ("spsc", "u64"),
        ("blocking", "u64"),
        ("try", "handle"),
        ("spsc", "handle"),
        ("blocking", "handle"),
    ):
        for placement in ("pinned", "one_cpu"):
            for work in (0, 2, 20):
                for capacity in (1024, 16, 2):
                    lines += throughput_table(c, group, payload, capacity, work, placement)
    lines += [(Path(__file__).parent / "method.md").read_text()]
    page = Path(docs) / "benchmarks.md"
    page.write_text("\n".join(lines) + "\n")
    return written + [page]
