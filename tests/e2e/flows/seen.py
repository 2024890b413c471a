"""Tasks that look at their own process, and tasks that end badly."""

import json
import os
import sys
import threading

import flyte

env = flyte.TaskEnvironment(name="seen")


def status(*names: str) -> dict:
    lines = open("/proc/self/status").read().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines) if name in names}


def files() -> dict:
    """What each open file is and how it is open."""
    import fcntl

    found = {}
    for name in sorted(os.listdir("/proc/self/fd"), key=int):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
            flags = fcntl.fcntl(int(name), fcntl.F_GETFL), fcntl.fcntl(int(name), fcntl.F_GETFD)
        except OSError:
            continue  # the one of the listing
        found[name] = [target.split(":")[0], *flags]
    return found


def look() -> dict:
    import gc
    import inspect
    import locale
    import logging
    import multiprocessing.process
    import resource
    import signal
    import site
    import tempfile
    import time

    opened = files()
    signals = {
        str(number): repr(signal.getsignal(number)).split(" at ")[0]
        for number in signal.valid_signals()
        if number not in (signal.SIGKILL, signal.SIGSTOP)
    }
    main = sys.modules["__main__"]
    flyte_logger = logging.getLogger("flyte")
    return {
        "argv": sys.argv,
        "orig_argv": sys.orig_argv,
        "kernel's argv": open("/proc/self/cmdline").read().split("\0"),
        "kernel's environment": sorted(open("/proc/self/environ").read().split("\0")),
        "environment": dict(os.environ),
        "environment of children": sorted(os.popen("env -0").read().split("\0")),
        "comm": open("/proc/self/comm").read(),
        "exe": os.readlink("/proc/self/exe"),
        "cwd": os.getcwd(),
        "files": opened,
        "own group": os.getpgrp() == os.getpid(),
        "session is the parent's": os.getsid(0) == os.getppid(),
        "signals": signals,
        "signal mask": sorted(str(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, [])),
        "status": status("Umask", "SigBlk", "SigIgn", "SigCgt", "SigPnd", "ShdPnd", "Groups", "Uid", "Gid", "CapEff", "CapBnd", "NoNewPrivs", "Seccomp"),
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "kernel's threads": status("Threads"),
        "limits": open("/proc/self/limits").read(),
        "rlimits": {name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT_")},
        "nice": os.nice(0),
        "oom": open("/proc/self/oom_score_adj").read(),
        "cgroup": open("/proc/self/cgroup").read(),
        "path": sys.path,
        "flags": repr(sys.flags),
        "prefixes": [sys.prefix, sys.base_prefix, sys.executable],
        "main": {name: repr(value).split(" at ")[0] for name, value in sorted(vars(main).items())},
        "streams": [[stream.name, stream.encoding, stream.errors, stream.line_buffering, stream.write_through, stream.seekable()] for stream in (sys.stdin, sys.stdout, sys.stderr)],
        "stack": [f"{frame.filename}:{frame.function}" for frame in inspect.stack() if "asyncio" not in frame.filename],
        "logging": {
            "root": [logging.root.level, [repr(handler) for handler in logging.root.handlers]],
            "flyte": [flyte_logger.level, flyte_logger.propagate, [repr(handler) for handler in flyte_logger.handlers]],
        },
        "hooks": [sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__],
        "directories": [tempfile.gettempdir(), site.USER_BASE, site.USER_SITE, multiprocessing.process.ORIGINAL_DIR, os.path.expanduser("~")],
        "locale": [locale.getlocale(), time.tzname],
        "gc": [gc.isenabled(), gc.get_threshold()],
        "recursion": sys.getrecursionlimit(),
        "user modules": sorted(name for name, module in sys.modules.items() if name.startswith("flows")),
    }


@env.task
async def process() -> str:
    import random
    import uuid

    parent = open(f"/proc/{os.getppid()}/cmdline").read().split("\0")
    return json.dumps({
        "warm": len(parent) > 3,
        "seen": look(),
        "chance": [random.random(), str(uuid.uuid4()), random.getrandbits(64)],
    })


@env.task(retries=0)
async def bad(kind: str) -> int:
    """Ends in one of the ways in which a process may."""
    if kind == "raise":
        raise ValueError("as asked")
    if kind == "exit":
        os._exit(3)
    if kind == "kill":
        os.kill(os.getpid(), 9)
    if kind == "segv":
        import ctypes

        ctypes.string_at(0)
    if kind == "parent":
        for name in os.listdir("/proc"):
            try:
                if name.isdigit() and b"warm parent of" in open(f"/proc/{name}/cmdline", "rb").read():
                    os.kill(int(name), 9)
            except OSError:
                continue
    return os.getpid()
