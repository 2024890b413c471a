"""Imports the packages that tasks of this environment have used, and keeps them aside until a task imports them itself.

parent.py loads this file, and gives it the module forkable. A package that is kept aside is not in sys.modules, so that a task
without it sees nothing of it, and a module of the task's own code with the same name is found first, as in a cold start. When a
task imports the package, it and what its import brought along appear in sys.modules, and what else the import did is done:
filters of warnings, functions for the end of the process, chance.

An import that does anything else is refused: the parent is then renewed without it.
"""

import atexit
import importlib
import os
import re
import sys
import sysconfig
import time
import types
import warnings

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
            if name in self.index or (name in sys.modules and not forkable.lazy(sys.modules[name])):
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
        self.known = frozenset(self.index) | {name for name, module in sys.modules.items() if not forkable.lazy(module)}

    def add(self, name: str, varying: set, read: set, threads) -> None:
        package, before, state = Package(name), set(sys.modules), forkable.settings()
        loaded = {key for key in forkable.NEVER if key in before and not forkable.lazy(sys.modules[key])}
        filters, sources, register, known = list(warnings.filters), forkable.chance(), atexit.register, set(read)
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

    def modules(self) -> dict:
        """What is kept aside, by name."""
        return {name: module for package in self.packages for name, module in package.modules.items()}

    def sources(self) -> list:
        """The files and directories whose change makes the parent stale."""
        found = {path or "." for path in sys.path} | {sys.executable, os.path.join(sys.prefix, "pyvenv.cfg")}
        aside = [module for package in self.packages for module in package.modules.values()]
        for module in [*sys.modules.values(), *aside]:
            file = forkable.attribute(module, "__file__")
            if isinstance(file, str):
                found.add(file)
        return sorted(path for path in found if os.path.isabs(path))

    @staticmethod
    def observe(state: dict, sources: set, callbacks: int, loaded: set, threads) -> None:
        """Refuses what cannot be taken back."""
        for what, now in forkable.settings().items():
            if now != state[what]:
                raise Refused(f"it changes {what}")
        if atexit._ncallbacks() != callbacks:
            raise Refused("it asks to be called at the end of the process")
        if forkable.chance() - sources:
            raise Refused("it makes a source of random numbers, which all tasks would share")
        if threads() or not forkable.alone():
            raise Refused("it starts a thread")
        for name in forkable.NEVER:
            if name != "flyte" and name in sys.modules and not forkable.lazy(sys.modules[name]) and name not in loaded:
                raise Refused(f"it imports {name}: {forkable.NEVER[name]}")

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
        wanted = forkable.attribute(self.index[name].modules[name], "__spec__")
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
            if name in self.known or forkable.lazy(module) or name.partition(".")[0] in forkable.NEVER:
                continue
            if not re.fullmatch(r"[A-Za-z0-9_.]{1,100}", name):
                continue
            parts = name.split(".")
            for end in range(1, len(parts) + 1):
                prefix = ".".join(parts[:end])
                file = getattr(forkable.attribute(sys.modules.get(prefix), "__spec__"), "origin", None)
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


def hidden(learned: Learned, package: Package) -> type:
    """The type of a module that is loaded, and looks as if it were only registered."""

    class _LazyModule(types.ModuleType):
        def __getattribute__(self, name):
            if type(self) is _LazyModule:
                learned.restore_all(package, "")
            return types.ModuleType.__getattribute__(self, name)

    return _LazyModule


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
