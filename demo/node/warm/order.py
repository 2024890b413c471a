"""Finds out in which order to import packages before a fork. learned.py explains why the order matters.

The packages are imported in a process that only tells the order and ends. What an import may do to a process so does nothing here.
"""

import importlib
import json
import math
import os
import signal
import sys


#: How much longer the imports may take if the process does not get the CPU, or waits.
WAITING = 4


def of(names: list, seconds: float) -> list:
    """For each package its name, and the modules to import before it in their order. Instead of these, a text says why the package
    cannot be imported. What follows a package that used up the time or ended the process is left out."""
    # Those that are registered come first.
    names = sorted((name for name in names if not loaded(name)), key=lambda name: name not in sys.modules)
    if not names:
        return []
    file = os.memfd_create("order")
    parent, child = os.getpid(), os.fork()
    if child == 0:
        try:
            os.setsid()
            forkable.prctl(forkable.PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() == parent:
                signal.setitimer(signal.ITIMER_PROF, seconds)  # of CPU: what a busy machine takes away does not count
                signal.alarm(math.ceil(WAITING * seconds))
                tell(names, file)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    try:
        os.killpg(child, signal.SIGKILL)  # what the imports have started
    except ProcessLookupError:
        pass
    os.lseek(file, 0, os.SEEK_SET)
    with os.fdopen(file, encoding="utf-8") as told:
        names, *found = [json.loads(line) for line in told] or [names]
    if len(found) < len(names):
        found.append([names[len(found)], "its import ends the process, or takes too long"])
    return found


def tell(names: list, file: int) -> None:
    names = needed_first(names)
    os.write(file, json.dumps(names).encode() + b"\n")
    for name in names:
        before = {key for key in sys.modules if loaded(key)}
        waiting = set(sys.modules) - before
        try:
            importlib.import_module(name)
        except BaseException as error:
            units = f"{type(error).__name__}: {error}"
        else:
            units = complete(before, waiting)
        os.write(file, json.dumps([name, units]).encode() + b"\n")


def needed_first(names: list) -> list:
    """The names, and before those that the SDK has registered the registered ones that they load: each is a package of its own, which
    may be learned alone."""
    ordered, seen = [], set()

    def visit(name: str) -> None:
        if name in seen:
            return
        seen.add(name)
        if name in sys.modules:
            for other in registered_of(name):
                visit(other)
        ordered.append(name)

    for name in names:
        visit(name)
    return ordered


def registered_of(name: str) -> list:
    """The registered modules that an import loads, besides itself. They are found in a process of their own: nothing is imported here."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            waiting = [key for key in sys.modules if not loaded(key)]
            importlib.import_module(name)
            os.write(writer, json.dumps([key for key in waiting if loaded(key) and key != name]).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as told:
        text = told.read()
    os.waitpid(child, 0)
    return json.loads(text or "[]")


def complete(before: set, waiting: set) -> list:
    """The modules whose packages were complete before them. Python moves a module to the end of sys.modules when it is complete."""
    done, units = set(before), []
    for name in sys.modules:
        if name in before or name in waiting or not loaded(name):
            continue
        parts = name.split(".")
        if all(".".join(parts[:end]) in done for end in range(1, len(parts))):
            units.append(name)
        done.add(name)
    return units


def loaded(name: str) -> bool:
    """Reports whether a module has been imported, and not only registered."""
    return name in sys.modules and not forkable.lazy(sys.modules[name])
