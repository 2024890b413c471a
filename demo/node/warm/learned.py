"""Imports the packages that tasks of this environment have used, and keeps them aside until a task imports them itself.

parent.py loads this file, and gives it the modules forkable, effects and order. What is kept aside is not in sys.modules, so that a
task without it sees nothing of it, and a module of the task's own code with the same name is found first, as in a cold start.

It is kept in units. A unit is what one import statement brings if all that it needs has been imported before: a package with those of
its modules that it imports itself, or one more module of a package. When a task imports a module, its unit and those that it needs
appear in sys.modules, and what else their imports did is done (effects.py). So nothing that needs to be done can be missed, and
nothing of another package is done.

An import that does what cannot be done again is refused: the parent is then renewed without it.
"""

import atexit
import importlib
import os
import re
import sys
import sysconfig
import threading
import time
import types

#: What is recorded when a program reads all variables.
ALL = "*"

#: Names of modules that a task reports, at most, and how often one is counted.
REPORTS, COUNTED = 16, 64


class Refused(Exception):
    """A package must not be imported before a fork. Its name and the reason are the arguments."""


class Unit:
    """What one import brought."""

    def __init__(self, name: str):
        self.name, self.modules, self.effects = name, {}, effects.Effects()
        self.needs = []  # all other units that were imported for it, in the order of their imports
        self.restored = self.gone = False
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
        # Finders give none to a package without __init__.py; its import makes one.
        module.__spec__.loader = self.loader or module.__loader__


class Learned:
    """The modules that are kept aside. It is a finder of sys.meta_path."""

    def __init__(self):
        self.units, self.index, self.cost, self.known = [], {}, {}, frozenset()
        self.shown, self.loading, self.lock = [], True, threading.RLock()

    # ------------------------------------------------------------ before the fork

    def load(self, config: dict, read: set, deferred) -> None:
        """Imports packages until time or memory is used up."""
        began, first = time.process_time(), held()
        sys.meta_path.insert(0, self)
        with forkable.Draws() as draws:
            for name, units in order.of(config["learned"], config["seconds"]):
                if time.process_time() - began > config["seconds"] or held() - first > config["bytes"]:
                    break
                if name in self.index or order.loaded(name):
                    continue
                start, size = time.monotonic(), held()
                try:
                    if isinstance(units, str):
                        raise Refused(units)
                    self.learn(name, units, {ALL, "HOME", "TMPDIR", *config["varying"]}, read, draws, deferred)
                    if held() - first > config["bytes"]:
                        raise Refused("it takes too much memory")
                except BaseException as error:
                    raise Refused(name, f"{type(error).__name__}: {error}") from error
                self.cost[name] = [round(time.monotonic() - start, 3), held() - size]
            draws.forget(self.modules())
        self.loading = False
        if not self.units:
            sys.meta_path.remove(self)
        self.known = frozenset(self.index) | {name for name in sys.modules if order.loaded(name)}

    def learn(self, name: str, units: list, varying: set, read: set, draws, deferred) -> None:
        """Imports what a package needs, one unit after the other, and then the package."""
        state, sources, callbacks, began = forkable.settings(), forkable.chance(self.modules()), atexit._ncallbacks(), time.time()
        loaded, first, known = {key for key in forkable.NEVER if order.loaded(key)}, len(self.units), set(read)
        bindings = effects.Bindings({**sys.modules, **self.modules()})
        read.clear()
        for unit in [*(one for one in units if one != name), name]:
            if unit in self.index or order.loaded(unit):
                continue
            drawn, done = draws.count, len(self.units)
            try:
                self.add(unit)
            except Exception as error:
                if unit == name or isinstance(error, Refused):
                    raise
                continue  # it is one that cannot be imported by itself, and comes with the one that needs it
            if draws.count > drawn:
                raise Refused(f"{unit} draws random numbers, which all tasks would share")
            changed = bindings.changed()
            if changed:
                raise Refused(f"{unit} changes {changed}")
            bindings.add({key: module for one in self.units[done:] for key, module in one.modules.items()})
        seen = set(read)
        read.update(known)
        if seen & varying:
            one = min(seen & varying)
            raise Refused("it reads all variables" if one == ALL else f"it reads {one}, which may be another in each task")
        self.observe(state, sources, callbacks, loaded, first, deferred)
        keeps = forkable.kept({key: module for one in self.units[first:] for key, module in one.modules.items()}, began)
        if keeps:
            raise Refused(f"it keeps {keeps}")

    def add(self, name: str) -> None:
        """Imports one unit and hides it, with what it needed."""
        unit, before, around = Unit(name), set(sys.modules), effects.Surroundings()
        waiting = {key for key, module in sys.modules.items() if forkable.lazy(module)}
        try:
            with unit.effects.collecting():
                importlib.import_module(name)
            learned = {name, *(other.name for other in self.shown if other.lazy is not None)}
            for used in sorted(waiting - learned):
                if order.loaded(used):
                    raise Refused(f"it uses {used}, which is not learned")
            unit.needs, owned = list(self.shown), self.modules()
            unit.modules = {key: module for key, module in sys.modules.items() if key not in before and key not in owned}
            unit.effects.collect(around, [other.effects for other in unit.needs], unit.modules)
            unit.lazy = sys.modules[name] if name in before else None
            self.shown.append(unit)
            self.units.append(unit)
        finally:
            for key in set(sys.modules) - before:
                del sys.modules[key]
            for other in self.shown:
                other.restored = False
                other.effects.detach()
                if other.lazy is not None:
                    other.lazy.__class__ = hidden(self, other)
            self.shown.clear()
            around.restore()
            self.index = {key: other for other in self.units for key in other.modules}

    def modules(self) -> dict:
        """What is kept aside, by name."""
        return {name: module for unit in self.units for name, module in unit.modules.items()}

    def sources(self) -> list:
        """The files and directories whose change makes the parent stale."""
        found = {path or "." for path in sys.path} | {sys.executable, os.path.join(sys.prefix, "pyvenv.cfg")}
        for module in [*sys.modules.values(), *self.modules().values()]:
            file = forkable.attribute(module, "__file__")
            if isinstance(file, str):
                found.add(file)
        return sorted(path for path in found if os.path.isabs(path))

    def observe(self, state: dict, sources: set, callbacks: int, loaded: set, first: int, deferred) -> None:
        """Refuses what cannot be taken back. first is the number of the first new unit."""
        for what, now in forkable.settings().items():
            if now != state[what]:
                raise Refused(f"it changes {what}")
        if atexit._ncallbacks() != callbacks:
            raise Refused("it asks to be called at the end of the process")
        if forkable.chance(self.modules()) - sources:
            raise Refused("it makes a source of random numbers, which all tasks would share")
        if deferred.threads or deferred.loops or not forkable.alone():
            raise Refused("it starts a thread")
        brought = {key for unit in self.units[first:] for key in (unit.name, *unit.modules)}
        for name in forkable.NEVER:
            if name != "flyte" and name not in loaded and (name in brought or order.loaded(name)):
                raise Refused(f"it imports {name}: {forkable.NEVER[name]}")

    # ------------------------------------------------------------ in the task

    def find_spec(self, name, path=None, target=None):
        with self.lock:
            unit = self.index.get(name)
            if unit is None:
                return None
            found = elsewhere(self, name, path)
            if self.loading or (self.same(name, found) and self.usable(unit)):
                if found is not None:
                    found.loader = Restorer(self, name, found.loader)
            else:
                self.forget(unit)
            return found

    def same(self, name: str, found) -> bool:
        """Reports whether an import finds the module that is kept aside."""
        wanted = name in self.index and forkable.attribute(self.index[name].modules[name], "__spec__")
        return found is not None and bool(wanted) and found.origin == wanted.origin

    def usable(self, unit: Unit) -> bool:
        """Reports whether a task that imports the unit would get what is kept aside: it has no modules of its own in the place of those
        that the unit needs, and nothing that the imports would find and heed."""
        for one in (*unit.needs, unit):
            if one.restored:
                continue
            tops = [key for key, module in one.modules.items() if "." not in key and forkable.attribute(module, "__spec__") is not None]
            if one.gone or not one.effects.possible() or not all(self.same(key, elsewhere(self, key, None)) for key in tops):
                self.forget(one)
                return False
        return True

    def forget(self, unit: Unit) -> None:
        """Has a unit imported anew, by this task, and with it those that need it."""
        unit.gone = True
        for key in unit.modules:
            self.index.pop(key, None)

    def restore(self, name: str):
        """Returns a module that is being imported, and makes visible what its import brought along."""
        with self.lock:
            unit = self.index[name]
            self.restore_all(unit, name)
            return unit.modules[name]

    def restore_all(self, unit: Unit, missing: str = "") -> None:
        """Does what the import of a unit did, apart from adding the one module whose import is going on."""
        with self.lock:
            if unit.restored:
                return
            unit.restored = True
            if unit.lazy is not None:
                unit.lazy.__class__ = types.ModuleType
            for other in unit.needs:
                self.restore_all(other)
            for key, module in unit.modules.items():
                self.index.pop(key, None)
                if key == "__mp_main__":  # multiprocessing's other name of the program, which is not the parent's
                    sys.modules[key] = sys.modules["__main__"]
                elif key != missing:
                    sys.modules.setdefault(key, module)
            unit.effects.repeat()
            self.shown.append(unit)

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
        except Exception:  # the task has ended, and no one needs to know
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


def hidden(learned: Learned, unit: Unit) -> type:
    """The type of a module that is loaded, and looks as if it were only registered."""

    class _LazyModule(types.ModuleType):
        def __getattribute__(self, name):
            if type(self) is _LazyModule:
                learned.restore_all(unit)
            return types.ModuleType.__getattribute__(self, name)

    return _LazyModule


def held() -> int:
    """Bytes of memory that the process shares with those that it forks and that only its end gives back."""
    with open("/proc/self/status", "rb") as file:
        for line in file:
            if line.startswith(b"RssAnon:"):
                return int(line.split()[1]) << 10
    return 0
