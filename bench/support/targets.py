"""What was to be shown, and what came out: the rows of the table of targets."""

import itertools
import re

from cells import THREADS, figure, shape, short
from plot import number


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
            add(
                "e",
                "MpmcRing / SCQ" + ("" if counts else " (below boost: does not count)"),
                where,
                against("scq"),
                1.3 if counts else None,
            )
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
                    best = c.best(
                        [n for n in c.names("try/.*" + re.escape(s)) if not re.search("MpmcRing|unbounded|b2_4096", n)]
                    )
                    f = c.ratio("try/MpmcRing" + s, best) if best else None
                add("e", "MpmcRing: " + what, f"{threads}, {capacity}", f, 0.95)
    # f
    for place, capacity in itertools.product(c.places, (16, 1024)):
        s = f"/u64/{shape('1P1C', capacity, 0)}"
        best = c.best(["spsc/cached_ring" + s, "spsc/boost_spsc" + s], place)
        ours = c.best(["spsc/SpscRing" + s, "spsc/SpscRing_in_place" + s], place)
        if best and ours:
            add(
                "f",
                f"{short(ours.split('/')[1])} / {short(best.split('/')[1])} (best peer)",
                f"1P1C, {capacity}, {place}",
                c.ratio(ours, best, place=place),
                0.9,
            )
    for name in c.names("uncontended/ReorderRing.*"):
        add(
            "f",
            "ReorderRing publish + take, ns",
            "/".join(name.split("/")[2:]),
            c.summary(name, scale=1e9, inverse=True),
            most=20,
        )
    for work, least in ((20, 0.9), (2, 1.5)):
        for capacity in (16, 1024):
            for threads in THREADS:
                s = f"/u64/{shape(threads, capacity, work)}"
                ours = "blocking/Blocking_MpmcRing" + s
                if work == 20:
                    f = c.ratio(ours, f"ideal/no_queue/none/{shape(threads, 1024, work)}")
                    cpu = c.summary(ours, "cpu_ns", 1e-3)
                    add(
                        "f",
                        (
                            f"Blocking<MpmcRing>: share of the ideal, 20 us; processor time {number(cpu[0])} us an item"
                            if cpu
                            else ""
                        ),
                        f"{threads}, {capacity}",
                        f,
                        least,
                    )
                else:
                    add(
                        "f",
                        "Blocking<MpmcRing> / moodycamel's blocking queue (unbounded), 2 us",
                        f"{threads}, {capacity}",
                        c.ratio(ours, "blocking/moodycamel_blocking_unbounded" + s),
                        least,
                    )
                    add(
                        "f",
                        "the same / moodycamel's made bounded by a semaphore",
                        f"{threads}, {capacity}",
                        c.ratio(ours, "blocking/moodycamel_blocking_bounded" + s),
                        text="as it is",
                    )
                    add(
                        "f",
                        "the same, share of the ideal",
                        f"{threads}, {capacity}",
                        c.ratio(ours, f"ideal/no_queue/none/{shape(threads, 1024, work)}"),
                        text="as it is",
                    )
    # g
    for kind, flight in (("empty", 64), ("slow", 4096)):
        pipeline = f"dispatch/tbb_pipeline/in_flight:{flight}/{kind}"
        for engine in ("engine_2_workers", "engine_1_worker_and_consumer"):
            for batch, most in ((1, 3), (8, 1.5), (32, 1.5)):
                for name in c.names(f"dispatch/{engine}/batch:{batch}/window:.*/{kind}"):
                    add(
                        "g",
                        f"time of an item, {short(engine)} / tbb::parallel_pipeline, {kind}",
                        f"batch {batch}",
                        c.ratio(name, pipeline, inverse=True),
                        most=most,
                    )
    for name in sorted(c.names("skewed/engine.*")):
        _, engine, batch, window = name.split("/")
        bound = c.summary(name, "of_bound")
        add(
            "g",
            (
                f"skewed items, {short(engine)}: share of the greedy schedule "
                f"(of the makespan bound: {number(bound[0])})"
                if bound
                else ""
            ),
            f"{batch.replace(':', ' ')}, {window.replace(':', ' ')}",
            c.summary(name, "of_greedy"),
            0.97,
        )
    for name in sorted(c.names("patches/.*")):
        parts = name.split("/")
        ours = parts[1].startswith("engine")
        add(
            "g",
            f"items of 8 patches, {short(parts[1])}: share of the makespan bound",
            ", ".join(p.replace(":", " ") for p in parts[2:]),
            c.summary(name, "of_bound"),
            0.95 if ours else None,
            text=None if ours else "a peer",
        )
    # h
    add("h", "seeding an item's stream, ns", "", c.summary("random/seed_a_stream", scale=1e9, inverse=True), most=5)
    for ours, peer, least in (
        ("fill_uniform", "peer_uniform_mt19937", 4),
        ("fill_normal", "peer_normal_distribution", 3),
    ):
        add("h", f"{ours} / {peer.replace('peer_', '')}", "", c.ratio(f"random/{ours}", f"random/{peer}"), least)
    for ours, peer in (
        ("fill_uniform", "peer_uniform_mt19937_by_hand"),
        ("philox_block", "peer_random123_block"),
        ("fill_uniform", "peer_uniform_random123"),
    ):
        add(
            "h",
            f"{ours} / {peer.replace('peer_', '')}",
            "",
            c.ratio(f"random/{ours}", f"random/{peer}"),
            text="as it is",
        )
    return out
