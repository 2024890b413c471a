"""What programs need that import the SDK once and then fork tasks from themselves.

They load this file without an entry in sys.modules, since a task may have a module of the same name.
"""

import asyncio
import atexit
import builtins
import contextlib
import contextvars
import ctypes
import datetime
import decimal
import functools
import gc
import importlib
import importlib.machinery
import locale
import logging
import os
import pathlib
import random
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import types

PR_SET_PDEATHSIG, PR_SET_MM, PR_SET_MM_MAP, PR_SET_CHILD_SUBREAPER = 1, 35, 14, 36

libc = ctypes.CDLL(None, use_errno=True)
libc.malloc.restype = libc.sbrk.restype = ctypes.c_void_p


class Unfit(Exception):
    """This environment cannot be forked from, or this task cannot be started warm."""


def prctl(option: int, *arguments) -> None:
    values = [ctypes.c_ulong(value) for value in (*arguments, 0, 0, 0, 0)[:4]]
    if libc.prctl(option, *values) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl {option}: {os.strerror(number)}")


class Listed(str):
    """A name that a listing of all variables gave. Who copies all, as fsspec does, depends on none of them by that."""

    def __reduce__(self):
        return str, (str(self),)


class ReadRecorder(type(os.environ)):
    """Records which variables are read: their values then count for everything that is forked later. "*" means that all were
    listed."""

    names: set = set()

    def __getitem__(self, name):
        if not isinstance(name, Listed):
            self.names.add(os.fsdecode(name))
        return super().__getitem__(name)

    def __iter__(self):
        self.names.add("*")
        return map(Listed, super().__iter__())


class Deferred:
    """Threads and event loops that imports create. Neither survives a fork, so the task gets them afterwards."""

    def __init__(self):
        self.threads, self.loops = [], []
        self.start, self.new_event_loop = threading.Thread.start, asyncio.new_event_loop

    def __enter__(self):
        def new_event_loop():
            loop = self.new_event_loop()
            self.loops.append(loop)
            return loop

        threading.Thread.start = lambda thread: self.threads.append(thread)
        asyncio.new_event_loop = new_event_loop
        return self

    def __exit__(self, *_):
        threading.Thread.start, asyncio.new_event_loop = self.start, self.new_event_loop
        for loop in self.loops:
            if type(loop) is not asyncio.SelectorEventLoop:
                raise Unfit(f"an import makes an event loop of type {type(loop).__name__}")
            loop.close()  # its files would be shared by all tasks

    def resume(self) -> None:
        """Makes loops and threads anew in the task. The objects stay the same: other modules have them."""
        for loop in self.loops:
            loop.__init__()
        for thread in self.threads:
            threading.Thread.__init__(
                thread, name=thread.name, target=thread._target, args=thread._args, kwargs=thread._kwargs, daemon=thread.daemon
            )
            thread.start()


@contextlib.contextmanager
def recorded():
    """Records the reads of variables."""
    plain = type(os.environ)
    os.environ.__class__ = ReadRecorder
    try:
        yield
    finally:
        os.environ.__class__ = plain


def load(script: str, modules: list) -> Deferred:
    """Imports the SDK as the script would. Returns what was deferred."""
    if not sys.flags.isolated and not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.path.dirname(os.path.realpath(script))
    sys.modules.pop("gc", None)  # this file's, which the SDK does not need; it can be loaded again at no loss
    with recorded(), Deferred() as deferred:
        for name in modules:
            try:
                importlib.import_module(name)
            except ModuleNotFoundError as error:
                if not name.startswith(error.name or "?"):
                    raise
    return deferred


def prepare_tls() -> None:
    """Makes TLS contexts before the fork: those that the SDK asks for, one for its client and one for its controller. To read the file
    of the authorities that they trust takes a third of a warm start. ssl.create_default_context hands each out once, and is then
    itself again."""
    ssl, certifi = sys.modules.get("ssl"), sys.modules.get("certifi")
    if ssl is None or certifi is None or os.environ.get("SSLKEYLOGFILE"):
        return
    make, file = ssl.create_default_context, os.environ.get("SSL_CERT_FILE") or certifi.where()
    try:
        read = version(file)
        ready = [make(cafile=file), make(cafile=file)]
    except OSError:
        return  # the client in the task says what is wrong with the file

    @functools.wraps(make)
    def create_default_context(*arguments, **named):
        context = None
        if not arguments and named == {"cafile": file} and not os.environ.get("SSLKEYLOGFILE"):
            with contextlib.suppress(IndexError, OSError):
                if version(file) == read:
                    context = ready.pop()
        if not ready and ssl.create_default_context is create_default_context:
            ssl.create_default_context = make
        return context or make(*arguments, **named)

    ssl.create_default_context = create_default_context


def version(file: str) -> tuple:
    """Differs after a file has been written or replaced."""
    stat = os.stat(file)
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns


def check(files: set, modules=None, sources=frozenset()) -> None:
    """Refuses what a fork would break: threads, files besides the standard ones and these, and sources of random numbers besides these.
    modules are those that are loaded."""
    if native():
        raise Unfit("an import starts a thread outside of Python")
    if threading.active_count() != 1:
        raise Unfit("an import starts a thread")
    if chance(modules) - {id(random._inst)} - sources:
        raise Unfit("an import makes a source of random numbers, which all forks would share")
    for file in sorted(open_files() - {0, 1, 2} - files):
        raise Unfit(f"an import opens {os.readlink(f'/proc/self/fd/{file}')}")


#: Threads outside of Python that a fork does not harm, by their name, and why.
HARMLESS = {"jemalloc_bg_thd": "jemalloc holds its locks during a fork and works without it in the child; pyarrow brings it"}


def native() -> list:
    """The names of the threads of this process besides the main one and harmless ones."""
    found = []
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found.append(pathlib.Path(f"/proc/self/task/{thread}/comm").read_text().strip() if int(thread) != os.getpid() else "")
    return [name for name in found if name and name not in HARMLESS]


def open_files() -> set:
    found = {int(name) for name in os.listdir("/proc/self/fd")}
    return {file for file in found if os.path.exists(f"/proc/self/fd/{file}")}  # not the one of the listing itself


def refresh(modules) -> None:
    """Corrects what modules, which are given by name, have kept of the parent's own surroundings. A task may import those of them that are
    not in sys.modules later."""
    importlib.invalidate_caches()
    site = modules.get("site")
    if site is not None and site.USER_BASE is not None:
        site.USER_BASE = site.USER_SITE = None
        if site.ENABLE_USER_SITE and os.path.isdir(site.getusersitepackages()):
            raise Unfit("the home directory has Python packages")
        site.getusersitepackages()
    tempfile = modules.get("tempfile")
    if tempfile is not None:
        tempfile.tempdir = None
    process = modules.get("multiprocessing.process")
    if process is not None:
        process.ORIGINAL_DIR = os.getcwd()
        process.current_process().authkey = os.urandom(32)
    logging._startTime = time.time() if isinstance(logging._startTime, float) else time.time_ns()
    rich = namespace(modules.get("rich"))
    if "_IMPORT_CWD" in rich:
        rich["_IMPORT_CWD"] = os.getcwd()


def set_memory(arguments: list, environ) -> None:
    """Sets what the kernel shows as the command line and the environment, by which the node finds processes."""
    first = b"".join(os.fsencode(text) + b"\0" for text in arguments)
    second = b"".join(os.fsencode(f"{name}={value}") + b"\0" for name, value in environ.items())
    place = libc.malloc(ctypes.c_size_t(len(first) + len(second) + 1))  # for the life of the process
    ctypes.memmove(place, first + second, len(first) + len(second))
    with open("/proc/self/stat", "rb") as file:
        stat = file.read().rpartition(b")")[2].split()
    now = {number: int(stat[number - 3]) for number in (26, 27, 28, 45, 46, 47)}
    end = place + len(first)
    record = struct.pack(
        "=12QIi",
        *(now[26], now[27], now[45], now[46], now[47], libc.sbrk(ctypes.c_long(0)), now[28]),
        *(place, end, end, end + len(second), 0),
        *(0, -1),
    )
    buffer = ctypes.create_string_buffer(record)
    prctl(PR_SET_MM, PR_SET_MM_MAP, ctypes.addressof(buffer), len(record))


def compile_script(path: str, main: dict):
    """Puts the script in the place of the program, whose globals began as main. Returns its code and module."""
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec")
    module = types.ModuleType("__main__")
    module.__dict__.update(main, __doc__=None, __file__=path, __builtins__=builtins)
    if "__loader__" in main:
        module.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
    sys.modules["__main__"] = module
    if "__mp_main__" in sys.modules:  # multiprocessing's other name of it
        sys.modules["__mp_main__"] = module
    return code, module


def reseed(modules) -> None:
    """Gives a forked process random numbers of its own, as a new interpreter has them, whether or not it ever imports the modules, which
    are given by name. Python's own are seeded by the fork."""
    numbers = modules.get("numpy.random.mtrand")
    if numbers is not None:
        numbers._rand.seed()


# ---------------------------------------------------------------- what an import may not do before a fork

#: Packages that are never imported before a fork, and why.
NEVER = {
    "torch": "threads, and the context of a GPU", "tensorflow": "threads, and the context of a GPU",
    "jax": "threads, and the context of a GPU", "jaxlib": "threads, and the context of a GPU",
    "cupy": "the context of a GPU", "cudf": "the context of a GPU", "triton": "the context of a GPU",
    "grpc": "threads, and locks that a fork may copy while they are held",
    "polars": "pools of threads", "ray": "processes", "pyspark": "processes",
    "gevent": "it replaces parts of the standard library", "eventlet": "it replaces parts of the standard library",
    "coverage": "it observes the process from the import on", "ddtrace": "it observes the process from the import on",
    "newrelic": "it observes the process from the import on", "sentry_sdk": "it observes the process from the import on",
    "matplotlib": "it keeps paths below the home directory", "pkg_resources": "it keeps sys.path",
    "setuptools": "it replaces a part of the standard library", "flyte": "it is the SDK",
}


def lazy(module) -> bool:
    """Reports whether the SDK has registered a module, which is loaded when an attribute of it is used."""
    return type(module).__name__ == "_LazyModule"


def attribute(module, name: str):
    """An attribute of a module. getattr would load modules that the SDK has registered to be loaded when they are used."""
    return namespace(module).get(name)


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
        "the log": [
            logging.root.level, list(logging.root.handlers), logging.root.manager.disable, logging.getLoggerClass(), logging.getLogRecordFactory(),
            dict(logging._levelToName), logging.raiseExceptions,
        ],
        "loggers": {
            name: [one.level, one.propagate, one.disabled, list(one.handlers), list(one.filters)]
            for name, one in logging.root.manager.loggerDict.items() if isinstance(one, logging.Logger)
        },
        "hooks": [sys.excepthook, sys.displayhook, sys.unraisablehook, threading.excepthook, sys.gettrace(), sys.getprofile()],
        "how imports work": [list(sys.meta_path), list(sys.path_hooks), list(sys.path), builtins.__import__],
        "builtins": set(vars(builtins)) - {"_"},
        "the standard library": [socket.socket, threading.Thread, time.sleep, os.fork, subprocess.Popen, socket.create_connection],
        "settings of the interpreter": [
            sys.getrecursionlimit(), sys.getswitchinterval(), gc.get_threshold(), gc.isenabled(), list(gc.callbacks), threading.stack_size(),
            sys.getdlopenflags(), type(asyncio.get_event_loop_policy()),
        ],
        "how numbers are computed": [repr(decimal.getcontext()), getattr(sys, "get_int_max_str_digits", int)()],
        "context variables": {variable: id(value) for variable, value in contextvars.copy_context().items() if variable.name != "decimal_context"},
        "settings of the kernel": [
            [line for line in pathlib.Path("/proc/self/status").read_text().splitlines() if line.startswith(("Umask:", "SigBlk:"))],
            pathlib.Path("/proc/self/limits").read_text(), os.nice(0), *map(signal.getitimer, range(3)),
        ],
        "the locale": locale.setlocale(locale.LC_ALL),
        "the working directory": os.getcwd(),
        "the timeout of sockets": socket.getdefaulttimeout(),
        "open files": sorted(name for name in listed if os.path.exists("/proc/self/fd/" + name)),
        "child processes": children,
        "random numbers": random.getstate(),
    }


def chance(modules=None) -> set:
    """Sources of random numbers that are not numpy's own. modules are those that are loaded."""
    numbers, found = (sys.modules if modules is None else modules).get("numpy.random.mtrand"), set()
    for one in gc.get_objects():
        kind = type(one)
        module = kind.__module__ if isinstance(kind.__module__, str) else ""
        if issubclass(kind, random.Random):
            if not issubclass(kind, random.SystemRandom):
                found.add(id(one))
        elif module.startswith("numpy.random") and kind.__name__ in ("RandomState", "Generator"):
            if one is not getattr(numbers, "_rand", None):
                found.add(id(one))
    return found


def alone() -> bool:
    """Reports whether the process has one thread. Those that end themselves before a fork, such as OpenBLAS's, do not count."""
    if not native():
        return True
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return not native()


def namespace(owner):
    if issubclass(type(owner), type):
        return type.__dict__["__dict__"].__get__(owner)
    try:
        return object.__getattribute__(owner, "__dict__")
    except AttributeError:
        return {}


#: Packages that may draw random bytes while they are imported, and why.
DRAWING = {"numpy": "its own source is seeded after a fork", "opentelemetry": "keys that are unique within a process"}

#: A module that may, whoever imports it: refresh gives it another key after the fork.
REFRESHED = "multiprocessing.process"


class Draws:
    """Counts the random bytes that Python code takes from the system. passed is a module that imports others on behalf of the code."""

    def __init__(self, passed=""):
        self.count, self.plain, self.passed = 0, os.urandom, passed

    def __enter__(self):
        def urandom(size, /):
            frame, package = sys._getframe(1), ""
            if frame.f_globals.get("__name__") == REFRESHED:
                return self.plain(size)
            while frame is not None and (not package or package in sys.stdlib_module_names or package == self.passed):
                frame, package = frame.f_back, str(frame.f_globals.get("__name__")).partition(".")[0]
            self.count += package not in DRAWING
            return self.plain(size)

        self.counting = os.urandom = random._urandom = urandom
        return self

    def __exit__(self, *_):
        os.urandom = random._urandom = self.plain

    def forget(self, modules: dict) -> None:
        """Gives modules the system's own function."""
        for module in modules.values():
            for name, value in list(namespace(module).items()):
                if value is self.counting:
                    setattr(module, name, self.plain)


def kept(modules: dict, since: float) -> str:
    """Names something that modules have kept of this process or of the time of their import."""
    for name, module in modules.items():
        for key, value in list(namespace(module).items()):
            if type(value) is int and value == os.getpid() and "pid" in key.lower():
                return f"{name}.{key}, the id of the process"
            with contextlib.suppress(OverflowError, ValueError):
                moment = value.timestamp() if type(value) is datetime.datetime else value
                if type(moment) is float and since <= moment <= time.time():
                    return f"{name}.{key}, the time of the import"
    return ""
