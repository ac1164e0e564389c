"""The machine: what it is, and how much of it others use."""

import os
import platform
import re
import subprocess
import time
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")


def _text(path, default=""):
    try:
        return Path(path).read_text().strip()
    except OSError:
        return default


def _busy_and_stolen():
    """Seconds that all processors together worked, and that a hypervisor took away."""
    user, nice, system, _, _, irq, soft, steal = map(int, _text("/proc/stat").split("\n")[0].split()[1:9])
    return (user + nice + system + irq + soft) / TICK, steal / TICK


def _own():
    t = os.times()
    return t.user + t.system + t.children_user + t.children_system


class Busy:
    """A moment; later, how much of a processor others have used since (children must have ended)."""

    def __init__(self):
        self.time, (self.busy, self.stolen), self.own = time.monotonic(), _busy_and_stolen(), _own()

    def others_since(self):
        span = max(time.monotonic() - self.time, 1e-3)
        busy, stolen = _busy_and_stolen()
        return max(0.0, busy - self.busy - (_own() - self.own)) / span, (stolen - self.stolen) / span


def wait_for_quiet(limit, seconds):
    """True once others use less than `limit` of a processor in a second, False when `seconds` are over."""
    end = time.monotonic() + seconds
    while True:
        moment = Busy()
        time.sleep(1)
        if sum(moment.others_since()) < limit:
            return True
        if time.monotonic() > end:
            return False


def describe(build):
    """What a reader must know about the machine; no names and no paths."""
    cpu = _text("/proc/cpuinfo")

    def field(name):
        found = re.search(rf"^{name}\s*: (.*)$", cpu, re.M)
        return found.group(1) if found else "?"

    caches = []
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        caches.append(f"L{_text(index / 'level')} {_text(index / 'type').lower()} {_text(index / 'size')}")
    flags = field("flags").split()
    cache = _text(build / "CMakeCache.txt")
    compiler = re.search(r"^CMAKE_CXX_COMPILER:[A-Z]+=(.*)$", cache, re.M)
    version = "?"
    if compiler:
        run = subprocess.run([compiler.group(1), "--version"], capture_output=True, text=True)
        version = run.stdout.split("\n")[0]
    options = re.search(r"^CMAKE_CXX_FLAGS_RELEASE:[A-Z]+=(.*)$", cache, re.M)
    packages = {}
    for package in (
        "libtbb-dev",
        "libconcurrentqueue-dev",
        "libboost-dev",
        "libatomic-queue-dev",
        "libxenium-dev",
        "librandom123-dev",
        "libbenchmark-dev",
    ):
        try:
            run = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True)
            packages[package] = run.stdout if run.returncode == 0 and run.stdout else "absent"
        except OSError:
            packages[package] = "?"
    system = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', _text("/etc/os-release"), re.M))
    return {
        "processor": field("model name"),
        "processors": len(os.sched_getaffinity(0)),
        "virtual": "hypervisor" in flags,
        "vectors": [f for f in ("sse4_2", "avx2", "avx512f") if f in flags],
        "caches": caches,
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9),
        "governor": _text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "not visible"),
        "clock": _text("/sys/devices/system/clocksource/clocksource0/current_clocksource", "?"),
        "kernel": platform.release(),
        "system": system.get("PRETTY_NAME", "?"),
        "compiler": version,
        "flags": (options.group(1) if options else "?"),
        "packages": packages,
    }
