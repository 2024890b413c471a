"""Fetches and loads the code of tasks before they are forked.

A module of the user is loaded before the fork only if that cannot be told from loading it afterwards. What an import must not
do is refused, and the attempts then load it themselves: start threads or processes, open files, change variables or the working
directory, draw random numbers, keep the time or the id of the process. observe.py says what is compared or repeated instead.
"""

import asyncio
import sys
import time

Refused = observe.Refused


#: Packages that forkable.NEVER names for what counts only where attempts have directories or variables of their own. In a worker the
#: variables are compared.
COMPARED = {"matplotlib", "pkg_resources", "flyte"}


class Watch:
    """A finder that calls a function with a module right after it was imported. functions has them by the names of modules."""

    def __init__(self, functions: dict):
        self.functions = functions

    def find_spec(self, name, path=None, target=None):
        if name not in self.functions:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                spec.loader = Watched(spec.loader, self.functions[name])
                return spec
        return None


class Watched:
    def __init__(self, loader, function):
        self.loader, self.function = loader, function

    def __getattr__(self, name):
        return getattr(self.__dict__["loader"], name)

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.loader.exec_module(module)
        module.__spec__.loader = self.loader
        self.function(module)


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


def load(message: dict, deferred):
    """Loads the task's module as an attempt would. Returns what the import has read and done."""
    from flyte._internal.runtime.entrypoints import load_task
    from flyte._utils import adjust_sys_path

    options = parse(message["args"])
    sys.path.insert(0, ".")
    if options["tgz"]:
        adjust_sys_path([options["dest"]])
    draws, before, began = forkable.Draws(__name__), forkable.settings(), time.time()
    sources, modules, what = forkable.chance(), set(sys.modules), observe.Import()
    watch = Watch({
        "numpy.random.mtrand": what.chance.watch, "numpy.random.bit_generator": what.chance.entropy.watch,
        "tempfile": what.chance.names.watch, "argparse": what.parsers.watch,
    })  # fmt: skip
    sys.meta_path.insert(0, watch)
    restore = [forbid(loop) for loop in deferred.loops]
    try:
        with what.observed(), draws:
            load_task(options["resolver"], *options["resolver_args"])
    finally:
        sys.meta_path.remove(watch)
        for undo in restore:
            undo()
    observe.Variables.names.add("_F_SYS_PATH")  # by adjust_sys_path
    after = forkable.settings()
    for kind in ("open files", "child processes", "the working directory", "the standard library"):
        if after[kind] != before[kind]:
            raise Refused(f"it changes {kind}")
    loaded = {name: module for name, module in sys.modules.items() if name not in modules}
    draws.forget(loaded)
    what.chance.finish(loaded, sources, forkable.chance(), draws.count)
    keeps = forkable.kept(loaded, began)
    if keeps:
        raise Refused(f"it keeps {keeps}, which would be the same in all attempts")
    if not forkable.alone():
        raise Refused("it starts a thread outside of Python")
    for name in forkable.NEVER.keys() - COMPARED:
        if name not in modules and name in sys.modules and not forkable.lazy(sys.modules[name]):
            raise Refused(f"it imports {name}: {forkable.NEVER[name]}")
    return what


def forbid(loop):
    """Refuses code that uses a loop of the SDK while it is loaded: its thread does not run before the fork."""

    def refuse(*_, **__):
        raise Refused("it waits for the SDK's own event loop")

    loop.call_soon_threadsafe = refuse
    return lambda: loop.__dict__.pop("call_soon_threadsafe", None)
