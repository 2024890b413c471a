"""What an import does to the process besides making modules.

learned.py loads this file. What can be taken back is recorded, taken back after the import, and done again in a task that imports
the module: filters of warnings, loggers, functions for the end of the process and of its threads, attributes of packages that are
modules. An import that changes anything else that another module has is refused.
"""

import atexit
import contextlib
import logging
import operator
import sys
import threading
import types
import warnings
import weakref

MISSING = object()

#: Values of these types are compared; of all others it counts whether they are the same object.
PLAIN = (str, bytes, int, float, bool, tuple, list, dict, set, frozenset)


class Surroundings:
    """What an import may change, as it was before."""

    def __init__(self):
        self.filters, self.loggers = list(warnings.filters), dict(logging.root.manager.loggerDict)
        self.parents = {logger: logger.parent for logger in self.loggers.values() if isinstance(logger, logging.Logger)}
        self.ends = list(thread_ends())
        self.finalizers, self.finalizing = set(weakref.finalize._registry), weakref.finalize._registered_with_atexit

    def restore(self) -> None:
        filter_warnings(self.filters)
        with logging._lock:
            logging.root.manager.loggerDict.clear()
            logging.root.manager.loggerDict.update(self.loggers)
            for logger, parent in self.parents.items():
                logger.parent = parent
        thread_ends()[:] = self.ends
        for one in set(weakref.finalize._registry) - self.finalizers:
            del weakref.finalize._registry[one]
        weakref.finalize._registered_with_atexit = self.finalizing


class Effects:
    """What an import has done, apart from what it needed and had been imported before."""

    def __init__(self):
        self.filters, self.exits, self.ends, self.finalizers, self.loggers, self.attributes = [], [], [], {}, {}, []

    @contextlib.contextmanager
    def collecting(self):
        """Collects the functions that an import registers for the end of the process, without registering them."""
        register = atexit.register

        def collect(function, *args, **kwargs):
            self.exits.append((function, args, kwargs))
            return function

        atexit.register = collect
        try:
            yield
        finally:
            atexit.register = register

    def collect(self, before: Surroundings, needs: list, modules: dict) -> None:
        """Records what differs from before, without what the effects of other imports were. modules are what the import made."""
        others = [rule for other in needs for rule in other.filters]
        self.filters = [rule for rule in warnings.filters if rule not in before.filters and rule not in others]
        self.exits = [call for call in self.exits if all(call not in other.exits for other in needs)]
        others = [end for other in needs for end in other.ends]
        self.ends = [end for end in thread_ends() if end not in before.ends and end not in others]
        others = {name for other in needs for name in other.loggers}
        for name, logger in logging.root.manager.loggerDict.items():
            if isinstance(logger, logging.Logger) and before.loggers.get(name) is not logger and name not in others:
                self.loggers[name] = logger
        others = {one for other in needs for one in other.finalizers}
        registry = weakref.finalize._registry
        self.finalizers = {one: registry[one] for one in registry if one not in before.finalizers and one not in others}
        for name, module in modules.items():
            above, _, last = name.rpartition(".")
            parent = None if above in modules else sys.modules.get(above)
            if parent is not None and forkable.namespace(parent).get(last) is module:
                self.attributes.append((parent, last, module))

    def detach(self) -> None:
        """Removes the module from the packages above it, where a task would find it without an import."""
        for parent, name, module in self.attributes:
            if forkable.namespace(parent).get(name) is module:
                delattr(parent, name)

    def possible(self) -> bool:
        """Reports whether the import would now have the same effect. It would not if the task has made one of the loggers."""
        present = logging.root.manager.loggerDict
        return not any(isinstance(present.get(name), logging.Logger) for name in self.loggers)

    def repeat(self) -> None:
        for parent, name, module in self.attributes:
            setattr(parent, name, module)
        if self.filters:
            filter_warnings(self.filters + list(warnings.filters))
        with logging._lock:
            manager = logging.root.manager
            for name, logger in self.loggers.items():
                here = manager.loggerDict.get(name)
                manager.loggerDict[name] = logger
                if isinstance(here, logging.PlaceHolder):
                    manager._fixupChildren(here, logger)
                manager._fixupParents(logger)
        thread_ends().extend(self.ends)
        weakref.finalize._registry.update(self.finalizers)
        for function, args, kwargs in self.exits:
            if function == weakref.finalize._exitfunc:  # all finalizers are called by one function
                if weakref.finalize._registered_with_atexit:
                    continue
                weakref.finalize._registered_with_atexit = True
            atexit.register(function, *args, **kwargs)


class Bindings:
    """What the names of modules, and of the classes that they have, stand for. Imports may add names, and must not change others."""

    def __init__(self, modules: dict):
        self.tables = {}
        self.add(modules)

    def add(self, modules: dict) -> None:
        for name, module in modules.items():
            if forkable.lazy(module) or name in ("__main__", "__mp_main__"):
                continue
            table = forkable.namespace(module)
            self.tables[id(module)] = (name, module, dict(table), False)
            for key, value in list(table.items()):
                if issubclass(type(value), type) and id(value) not in self.tables:
                    self.tables[id(value)] = (f"{name}.{key}", value, dict(forkable.namespace(value)), True)

    def changed(self) -> str:
        """Names something that was changed; empty if nothing was. Then the present names count from now on."""
        for key, (name, owner, old, is_class) in list(self.tables.items()):
            now = forkable.namespace(owner)
            if len(now) == len(old) and all(map(operator.is_, old.values(), now.values())):
                continue
            for attribute in {**old, **now}:
                if not attribute.startswith("__") and differs(old.get(attribute, MISSING), now.get(attribute, MISSING), is_class):
                    return f"{name}.{attribute}"
            self.tables[key] = (name, owner, dict(now), is_class)
        return ""


def differs(old, now, is_class: bool) -> bool:
    """Reports whether a name has got another meaning. One that was None has been computed, and modules may have new names."""
    if old is now or old is None:
        return False
    if is_class:
        return any(callable(value) or isinstance(value, property) for value in (old, now) if value is not MISSING)
    if old is MISSING or issubclass(type(old), types.ModuleType):
        return False
    return not (type(old) is type(now) and isinstance(old, PLAIN) and old == now)


def thread_ends() -> list:
    """Functions that run before the interpreter waits for threads."""
    return getattr(threading, "_threading_atexits", [])


def filter_warnings(rules: list) -> None:
    warnings.filters[:] = rules
    if hasattr(warnings, "_filters_mutated"):
        warnings._filters_mutated()
    else:  # from Python 3.14 on
        with warnings._lock:
            warnings._filters_mutated_lock_held()
