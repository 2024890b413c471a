"""Imports the packages that tasks of this environment have used, and keeps them aside until a task imports them itself.

parent.py loads this file. A package that is kept aside is not in sys.modules, so that a task without it sees nothing of it,
and a module of the task's own code with the same name is found first, as in a cold start. When a task imports the package, it
and what its import brought along appear in sys.modules, and what else the import did is done: filters of warnings, functions
for the end of the process, chance.

An import that does anything else is refused: the parent is then renewed without it.
"""

import atexit
import builtins
import gc
import importlib
import importlib.machinery
import locale
import logging
import os
import random
import re
import signal
import socket
import subprocess
import sys
import sysconfig
import threading
import time
import types
import warnings

#: Packages that are never imported before a fork, and why.
NEVER = {
    "torch": "threads, and the context of a GPU", "tensorflow": "threads, and the context of a GPU",
    "jax": "threads, and the context of a GPU", "jaxlib": "threads, and the context of a GPU",
    "cupy": "the context of a GPU", "cudf": "the context of a GPU", "triton": "the context of a GPU",
    "grpc": "threads, and locks that a fork may copy while they are held", "pyarrow": "pools of threads",
    "polars": "pools of threads", "ray": "processes", "pyspark": "processes",
    "gevent": "it replaces parts of the standard library", "eventlet": "it replaces parts of the standard library",
    "coverage": "it observes the process from the import on", "ddtrace": "it observes the process from the import on",
    "newrelic": "it observes the process from the import on", "sentry_sdk": "it observes the process from the import on",
    "matplotlib": "it keeps paths below the home directory", "pkg_resources": "it keeps sys.path",
    "setuptools": "it replaces a part of the standard library", "flyte": "it is the SDK",
}

#: What is recorded when a program reads all variables.
ALL = "*"

#: Names of modules that a task reports, at most, and how often one is counted.
REPORTS, COUNTED = 16, 64


class Refused(Exception):
    """A package must not be imported before a fork. Its name and the reason are the arguments."""


class Package:
    """What the import of one package did."""

    def __init__(self, name: str):
        self.name, self.restored = name, False
        self.modules, self.needs, self.filters, self.exits = {}, [], [], []
        self.lazy = None  # the module itself, if the SDK has registered it to be loaded when it is used


class Restorer:
    """Loads a module by taking it from those that are kept aside. Otherwise it is the loader that the module has had."""

    def __init__(self, learned, name: str, loader):
        self.learned, self.name, self.loader = learned, name, loader

    def __getattr__(self, name):
        return getattr(self.__dict__["loader"], name)

    def create_module(self, spec):
        return self.learned.restore(self.name)

    def exec_module(self, module):
        module.__spec__.loader = self.loader


class Learned:
    """The packages that are kept aside. It is a finder of sys.meta_path."""

    def __init__(self):
        self.packages, self.index, self.cost, self.known = [], {}, {}, frozenset()

    # ------------------------------------------------------------ before the fork

    def load(self, config: dict, read: set, deferred) -> None:
        """Imports packages until time or memory is used up."""
        began, first = time.monotonic(), resident()
        sys.meta_path.insert(0, self)
        for name in config["learned"]:
            if time.monotonic() - began > config["seconds"] or resident() - first > config["bytes"]:
                break
            start, size = time.monotonic(), resident()
            if name in self.index or (name in sys.modules and not lazy(sys.modules[name])):
                continue
            try:
                self.add(name, {ALL, "HOME", "TMPDIR", *config["varying"]}, read, lambda: deferred.threads or deferred.loops)
                if resident() - first > config["bytes"]:
                    raise Refused("it takes too much memory")
            except BaseException as error:
                raise Refused(name, f"{type(error).__name__}: {error}") from error
            self.cost[name] = [round(time.monotonic() - start, 3), resident() - size]
        if not self.packages:
            sys.meta_path.remove(self)
        self.known = frozenset(self.index) | {name for name, module in sys.modules.items() if not lazy(module)}

    def add(self, name: str, varying: set, read: set, threads) -> None:
        package, before, state = Package(name), set(sys.modules), settings()
        loaded = {key for key in NEVER if key in before and not lazy(sys.modules[key])}
        filters, sources, register, known = list(warnings.filters), chance(), atexit.register, set(read)
        callbacks = atexit._ncallbacks()

        def collect(function, *args, **kwargs):
            package.exits.append((function, args, kwargs))
            return function

        read.clear()
        atexit.register = collect
        try:
            importlib.import_module(name)
        finally:
            atexit.register = register
        seen = set(read)
        read.update(known)
        if seen & varying:
            name = min(seen & varying)
            raise Refused("it reads all variables" if name == ALL else f"it reads {name}, which may be another in each task")
        self.observe(state, sources, callbacks, loaded, threads)
        package.needs = [other for other in self.packages if other.restored]
        replayed = [rule for other in package.needs for rule in other.filters]
        package.filters = [rule for rule in warnings.filters if rule not in filters and rule not in replayed]
        package.exits = [call for call in package.exits if all(call not in other.exits for other in package.needs)]
        owned = {key for other in self.packages for key in other.modules}
        package.modules = {key: module for key, module in sys.modules.items() if key not in before and key not in owned}
        for key in set(sys.modules) - before:
            del sys.modules[key]
        filter_warnings(filters)
        self.packages.append(package)
        package.lazy = sys.modules.get(name)
        for other in self.packages:
            other.restored = False
            if other.lazy is not None:
                other.lazy.__class__ = hidden(self, other)
        self.index = {key: other for other in self.packages for key in other.modules}

    def sources(self) -> list:
        """The files and directories whose change makes the parent stale."""
        found = {path or "." for path in sys.path} | {sys.executable, os.path.join(sys.prefix, "pyvenv.cfg")}
        aside = [module for package in self.packages for module in package.modules.values()]
        for module in [*sys.modules.values(), *aside]:
            file = attribute(module, "__file__")
            if isinstance(file, str):
                found.add(file)
        return sorted(path for path in found if os.path.isabs(path))

    @staticmethod
    def observe(state: dict, sources: set, callbacks: int, loaded: set, threads) -> None:
        """Refuses what cannot be taken back."""
        for what, now in settings().items():
            if now != state[what]:
                raise Refused(f"it changes {what}")
        if atexit._ncallbacks() != callbacks:
            raise Refused("it asks to be called at the end of the process")
        if chance() - sources:
            raise Refused("it makes a source of random numbers, which all tasks would share")
        if threads() or not alone():
            raise Refused("it starts a thread")
        for name in NEVER:
            if name != "flyte" and name in sys.modules and not lazy(sys.modules[name]) and name not in loaded:
                raise Refused(f"it imports {name}: {NEVER[name]}")

    # ------------------------------------------------------------ in the task

    def find_spec(self, name, path=None, target=None):
        if name not in self.index:
            return None
        found = elsewhere(self, name, path)
        if not self.same(name, found):
            self.forget(name.partition(".")[0])  # another module has this name here
        elif found is not None:
            found.loader = Restorer(self, name, found.loader)
        return found

    def same(self, name: str, found) -> bool:
        """Reports whether an import finds the module that is kept aside."""
        wanted = attribute(self.index[name].modules[name], "__spec__")
        return found is not None and wanted is not None and found.origin == wanted.origin

    def forget(self, top: str) -> None:
        for key in [key for key in self.index if key.partition(".")[0] == top]:
            del self.index[key]

    def restore(self, name: str):
        """Returns a module that is being imported, and makes visible what its import brought along."""
        package = self.index[name]
        module = package.modules[name]
        if name.partition(".")[0] in sys.stdlib_module_names:
            # Without the package that needed it, but with the others of the standard library, which may be its own.
            visible = {key: self.index[key] for key in self.index if key.partition(".")[0] in sys.stdlib_module_names}
            self.show({key: owner.modules[key] for key, owner in visible.items()}, name)
        else:
            self.restore_all(package, name)
        return module

    def restore_all(self, package: Package, missing: str) -> None:
        if package.restored:
            return
        package.restored = True
        if package.lazy is not None:
            package.lazy.__class__ = types.ModuleType
        for other in package.needs:
            self.restore_all(other, missing)
        self.show(package.modules, missing)
        if package.filters:
            filter_warnings(package.filters + list(warnings.filters))
        for function, args, kwargs in package.exits:
            atexit.register(function, *args, **kwargs)
        numbers = package.modules.get("numpy.random.mtrand")
        if numbers is not None:
            numbers._rand.seed()  # as its import would have

    def show(self, modules: dict, missing: str) -> None:
        """Adds modules to sys.modules, apart from the one whose import is going on and from those of other modules' names."""
        for top in {key for key in modules if "." not in key and key != missing and key in self.index}:
            if not self.same(top, elsewhere(self, top, None)):
                self.forget(top)
        for key in [key for key in modules if key in self.index]:
            del self.index[key]
            if key != missing:
                sys.modules.setdefault(key, modules[key])

    # ------------------------------------------------------------ at the end of the task

    def report(self, directory: str) -> None:
        """Counts what this task has imported from the environment, as one byte in a file with the name of the module."""
        try:
            for name in self.imported()[:REPORTS]:
                file = os.open(os.path.join(directory, name), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
                try:
                    if os.fstat(file).st_size < COUNTED:
                        os.write(file, b".")
                finally:
                    os.close(file)
        except Exception:  # the task has ended, and nobody needs to know
            pass

    def imported(self) -> list:
        """The shortest names of installed modules that were not there before the fork."""
        places = tuple({path + os.sep for key, path in sysconfig.get_paths().items() if key in ("purelib", "platlib")})
        found = set()
        for name, module in list(sys.modules.items()):
            if name in self.known or lazy(module) or name.partition(".")[0] in NEVER or not re.fullmatch(r"[A-Za-z0-9_.]{1,100}", name):
                continue
            parts = name.split(".")
            for end in range(1, len(parts) + 1):
                prefix = ".".join(parts[:end])
                file = getattr(attribute(sys.modules.get(prefix), "__spec__"), "origin", None)
                if prefix not in self.known and isinstance(file, str) and file.startswith(places):
                    found.add(prefix)
                    break
        return sorted(found, key=lambda name: (name.count("."), name))


def elsewhere(learned: Learned, name: str, path):
    """What the other finders find."""
    for finder in sys.meta_path:
        found = None if finder is learned else finder.find_spec(name, path)
        if found is not None:
            return found
    return None


def lazy(module) -> bool:
    """Reports whether the SDK has registered a module, which is loaded when an attribute of it is used."""
    return type(module).__name__ == "_LazyModule"


def hidden(learned: Learned, package: Package) -> type:
    """The type of a module that is loaded, and looks as if it were only registered."""

    class _LazyModule(types.ModuleType):
        def __getattribute__(self, name):
            if type(self) is _LazyModule:
                learned.restore_all(package, "")
            return types.ModuleType.__getattribute__(self, name)

    return _LazyModule


def attribute(module, name: str):
    """An attribute of a module. getattr would load modules that the SDK has registered to be loaded when they are used."""
    try:
        return object.__getattribute__(module, "__dict__").get(name)
    except AttributeError:
        return None


def settings() -> dict:
    """What an import may change for the whole process, and must not."""
    listed = os.listdir("/proc/self/fd")
    children = True
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        children = False
    return {
        "variables": dict(os.environ),
        "signal handlers": [signal.getsignal(number) for number in sorted(signal.valid_signals())],
        "the log": [logging.root.level, list(logging.root.handlers), logging.root.manager.disable, logging.getLoggerClass()],
        "hooks": [sys.excepthook, sys.displayhook, sys.unraisablehook, threading.excepthook, sys.gettrace(), sys.getprofile()],
        "how imports work": [list(sys.meta_path), list(sys.path_hooks), list(sys.path), builtins.__import__],
        "builtins": set(vars(builtins)) - {"_"},
        "the standard library": [socket.socket, threading.Thread, time.sleep, os.fork, subprocess.Popen, socket.create_connection],
        "settings of the interpreter": [sys.getrecursionlimit(), sys.getswitchinterval(), gc.get_threshold(), gc.isenabled()],
        "the locale": locale.setlocale(locale.LC_ALL),
        "the working directory": os.getcwd(),
        "the timeout of sockets": socket.getdefaulttimeout(),
        "open files": sorted(name for name in listed if os.path.exists("/proc/self/fd/" + name)),
        "child processes": children,
        "random numbers": random.getstate(),
    }


def chance() -> set:
    """Sources of random numbers that are not numpy's own."""
    found = set()
    for one in gc.get_objects():
        kind = type(one)
        module = kind.__module__ if isinstance(kind.__module__, str) else ""
        if module == "random" and kind.__name__ == "Random":
            found.add(id(one))
        elif module.startswith("numpy.random") and kind.__name__ in ("RandomState", "Generator"):
            if one is not getattr(sys.modules.get("numpy.random.mtrand"), "_rand", None):
                found.add(id(one))
    return found


def alone() -> bool:
    """Reports whether the process has one thread. Those that end themselves before a fork, such as OpenBLAS's, do not count."""
    if len(os.listdir("/proc/self/task")) == 1:
        return True
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return len(os.listdir("/proc/self/task")) == 1


def resident() -> int:
    """Bytes of memory that the process has."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def filter_warnings(rules: list) -> None:
    warnings.filters[:] = rules
    if hasattr(warnings, "_filters_mutated"):
        warnings._filters_mutated()
    else:  # from Python 3.14 on
        with warnings._lock:
            warnings._filters_mutated_lock_held()
