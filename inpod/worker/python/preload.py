"""Fetches and loads the code of tasks before they are forked.

A module of the user is loaded before the fork only if that cannot be told from loading it afterwards. What an import must not
do is refused, and the attempts then load it themselves: start threads or processes, open files, change variables or the working
directory, draw or make random numbers, keep the time or the id of the process, read the arguments of the attempt.
"""

import asyncio
import sys
import time


class Refused(BaseException):
    """The code must be loaded after the fork. Not an Exception, which the code could catch."""


class Arguments(list):
    """sys.argv, where every use is remembered."""

    used = False

    def __getitem__(self, index):
        Arguments.used = True
        return list.__getitem__(self, index)

    def __iter__(self):
        Arguments.used = True
        return list.__iter__(self)


class NumpyWatch:
    """A finder that remembers the state of numpy's own random numbers right after they are made."""

    name = "numpy.random.mtrand"

    def __init__(self):
        self.state = None

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                spec.loader = Remembering(spec.loader, self)
                return spec
        return None

    def changed(self) -> bool:
        module = sys.modules.get(self.name)
        return module is not None and repr(module._rand.get_state(legacy=False)["state"]) != self.state


class Remembering:
    def __init__(self, loader, watch):
        self.loader, self.watch = loader, watch

    def __getattr__(self, name):
        return getattr(self.__dict__["loader"], name)

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.loader.exec_module(module)
        module.__spec__.loader = self.loader
        self.watch.state = repr(module._rand.get_state(legacy=False)["state"])


def parse(args: list) -> dict:
    """The options of a command line of a0."""
    from flyte._bin.runtime import main

    return main.make_context("a0", list(args[1:])).params


def fetch(message: dict) -> None:
    """Downloads the code bundle into the working directory."""
    from flyte._internal.runtime.entrypoints import download_code_bundle
    from flyte.models import CodeBundle

    options = parse(message["args"])
    sys.path.insert(0, ".")
    bundle = CodeBundle(tgz=options["tgz"], destination=options["dest"], computed_version=options["version"])
    asyncio.run(download_code_bundle(bundle))


def load(message: dict, deferred) -> set:
    """Loads the task's module as an attempt would. Returns the names of the variables that counted."""
    from flyte._internal.runtime.entrypoints import load_task
    from flyte._utils import adjust_sys_path

    options = parse(message["args"])
    sys.path.insert(0, ".")
    if options["tgz"]:
        adjust_sys_path([options["dest"]])
    draws, before, began = forkable.Draws(), forkable.settings(), time.time()
    watch, sources, modules = NumpyWatch(), forkable.chance(), set(sys.modules)
    forkable.ReadRecorder.names.clear()
    forkable.ReadRecorder.names.add("_F_SYS_PATH")  # by adjust_sys_path
    sys.meta_path.insert(0, watch)
    arguments, sys.argv = sys.argv, Arguments(sys.argv)
    restore = [forbid(loop) for loop in deferred.loops]
    try:
        with forkable.recorded(), draws:
            load_task(options["resolver"], *options["resolver_args"])
    finally:
        sys.argv = arguments
        sys.meta_path.remove(watch)
        for undo in restore:
            undo()
    after = forkable.settings()
    for what in ("variables", "open files", "child processes", "random numbers", "the working directory", "the standard library"):
        if after[what] != before[what]:
            raise Refused(f"it changes {what}")
    if Arguments.used:
        raise Refused("it reads the arguments of the attempt")
    loaded = {name: module for name, module in sys.modules.items() if name not in modules}
    draws.forget(loaded)
    if forkable.chance() - sources or watch.changed() or draws.count:
        raise Refused("it makes or draws random numbers, which would be the same in all attempts")
    keeps = forkable.kept(loaded, began)
    if keeps:
        raise Refused(f"it keeps {keeps}, which would be the same in all attempts")
    if not forkable.alone():
        raise Refused("it starts a thread")
    for name in forkable.NEVER:
        if name != "flyte" and name not in modules and name in sys.modules and not forkable.lazy(sys.modules[name]):
            raise Refused(f"it imports {name}: {forkable.NEVER[name]}")
    return set(forkable.ReadRecorder.names)


def forbid(loop):
    """Refuses code that uses a loop of the SDK while it is loaded: its thread does not run before the fork."""

    def refuse(*_, **__):
        raise Refused("it waits for the SDK's own event loop")

    loop.call_soon_threadsafe = refuse
    return lambda: loop.__dict__.pop("call_soon_threadsafe", None)
