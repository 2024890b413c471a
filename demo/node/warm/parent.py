"""Imports the SDK once and forks the processes of tasks, which so start without the cost of the import.

The local node runs this file with the interpreter of a Python environment. docs/warm-starts.md explains the design. In short:

    parent (this file) --fork--> A --fork--> B
                                 |           |
                       exec: the shim        the task

A becomes the shim of one container, so B is the shim's child, as in a cold start: the shim waits for it and ends it. B waits
until the shim has sent what the process is to be. Before B has said that it is ready and the shim has said go, B runs
nothing of the task, so that up to there the shim can start the container cold instead.

The parent gets no data of any task. All of its failures are cold starts.
"""

import sys

MAIN = dict(globals())  # what the interpreter puts into __main__

import array
import asyncio
import ctypes
import gc
import importlib
import importlib.machinery
import json
import os
import signal
import socket
import struct
import threading
import types

#: The socket to the node.
CONTROL = 3

#: What comes with a request, and where the shim expects it: its spec, pipe of reports, lock and pipe of commands.
SHIM_FILES = (0, 3, 4, 5)

#: Where the shim expects the socket to the waiting process.
WAITING = 6

#: All files of the parent have lower numbers.
HIGH = 100

#: Files that whoever started the server has left open. Tasks have them after a cold start too.
INHERITED = frozenset()

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


# ---------------------------------------------------------------- the import


class ReadRecorder(type(os.environ)):
    """Records which variables are read: their values then count for everything that is forked later."""

    names: set = set()

    def __getitem__(self, name):
        self.names.add(name)
        return super().__getitem__(name)

    def __iter__(self):
        self.names.add("*")
        return super().__iter__()


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
            thread.__init__(
                name=thread.name, target=thread._target, args=thread._args, kwargs=thread._kwargs, daemon=thread.daemon
            )
            thread.start()


# What refresh corrects. A package that was learned must not bring them along: what it brings is out of refresh's sight.
REFRESHED = ("site", "tempfile", "multiprocessing.process")


def load(config: dict) -> Deferred:
    """Imports the SDK as the script would. Returns what was deferred."""
    if not sys.flags.isolated and not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.path.dirname(os.path.realpath(config["script"]))
    plain = type(os.environ)
    os.environ.__class__ = ReadRecorder
    try:
        with Deferred() as deferred:
            for name in REFRESHED:
                importlib.import_module(name)
            for name in config["modules"]:
                try:
                    importlib.import_module(name)
                except ModuleNotFoundError as error:
                    if not name.startswith(error.name or "?"):
                        raise
    finally:
        os.environ.__class__ = plain
    return deferred


def check() -> None:
    """Refuses what a fork would break: threads and files that imports have left behind."""
    if len(os.listdir("/proc/self/task")) != 1:
        raise Unfit("an import starts a thread outside of Python")
    if threading.active_count() != 1:
        raise Unfit("an import starts a thread")
    for file in sorted(open_files() - {0, 1, 2, CONTROL, *INHERITED}):
        raise Unfit(f"an import opens {os.readlink(f'/proc/self/fd/{file}')}")


def open_files() -> set:
    found = {int(name) for name in os.listdir("/proc/self/fd")}
    return {file for file in found if os.path.exists(f"/proc/self/fd/{file}")}  # not the one of the listing itself


def load_learned(config: dict):
    """Imports what tasks have used."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "learned.py")
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec")
    program = types.ModuleType("learned")  # not in sys.modules, for tasks may have a module of this name
    exec(code, program.__dict__)
    learned, plain = program.Learned(), type(os.environ)
    os.environ.__class__ = ReadRecorder
    try:
        with Deferred() as deferred:
            learned.load(config, ReadRecorder.names, deferred)
    finally:
        os.environ.__class__ = plain
    return learned


# ---------------------------------------------------------------- the parent


def parent(config: dict):
    """Serves the node until it hangs up. Returns in each task, with what it is to run."""
    control = socket.socket(fileno=CONTROL)
    control.set_inheritable(False)
    try:
        deferred = load(config)
        learned = load_learned(config)
        found = learned.sources()
        set_memory(sys.orig_argv[:1] + ["flyte-binary: warm parent of " + config["script"]], os.environ)
        check()
    except BaseException as error:
        said = {"unfit": f"{type(error).__name__}: {error}"}
        if type(error).__name__ == "Refused":
            said["refused"], said["unfit"] = error.args
        control.sendall(json.dumps(said).encode() + b"\n")
        raise
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps the shims
    gc.collect()
    gc.disable()  # a collection would copy pages that tasks share
    gc.freeze()
    control.sendall(json.dumps({"read": sorted(ReadRecorder.names), "sources": found, "learned": learned.cost}).encode() + b"\n")
    while True:
        request, ancillary, _, _ = control.recvmsg(1, socket.CMSG_SPACE(4 * (len(SHIM_FILES) + 1)))
        if not request:
            os._exit(0)
        files = received(ancillary)
        try:
            forked = os.fork()
        except OSError:
            forked = -1  # the node sees the files close
        if forked == 0:
            return (*child(config, deferred, control, files), learned, config["reports"])
        for file in files:
            os.close(file)


def received(ancillary) -> list:
    files = array.array("i")
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            files.frombytes(data[: len(data) - len(data) % files.itemsize])
    return list(files)


def child(config: dict, deferred: Deferred, control: socket.socket, files: list):
    """Is process A of the drawing. Returns in process B."""
    try:
        os.setsid()
        prctl(PR_SET_CHILD_SUBREAPER, 1)  # the shim says so too, but must have said it before B is made
        above, below = socket.socketpair()
        shim = os.getpid()
        waiting = os.fork()
        if waiting == 0:
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != shim:
                os._exit(0)
            return wait(config, deferred, alone(control, above, below))
        become_shim(config["shim"], waiting, above.fileno(), files)
    except BaseException:
        os._exit(1)


def alone(control: socket.socket, above: socket.socket, below: socket.socket) -> socket.socket:
    """Closes what belongs to the parent and the shim, and returns the last."""
    control.detach(), above.detach()
    for file in open_files() - {0, 1, 2, below.fileno(), *INHERITED}:
        os.close(file)
    return below


def become_shim(shim: dict, waiting: int, above: int, files: list) -> None:
    *files, started = files
    for number in (signal.SIGPIPE, getattr(signal, "SIGXFSZ", signal.SIGPIPE), signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)  # what is ignored would stay so
    import fcntl

    high = [fcntl.fcntl(file, fcntl.F_DUPFD, HIGH) for file in (*files, above)]
    started = fcntl.fcntl(started, fcntl.F_DUPFD_CLOEXEC, HIGH)
    null = os.open(os.devnull, os.O_RDWR)
    for file in (1, 2):
        os.dup2(null, file)
    os.closerange(3, HIGH)
    for file, place in zip(high, (*SHIM_FILES, WAITING)):
        os.dup2(file, place)
        os.close(file)
    if not os.access(shim["path"], os.X_OK):
        os._exit(1)
    os.write(started, b"x")  # from here on the node takes this process for the shim
    os.execve(shim["path"], [shim["path"], *shim["arguments"], str(waiting)], shim["env"])


# ---------------------------------------------------------------- the task


def wait(config: dict, deferred: Deferred, shim: socket.socket):
    """Is process B: becomes what the shim says. Returns what to run."""
    try:
        head, ancillary, _, _ = shim.recvmsg(4, socket.CMSG_SPACE(4 * 3))
        if len(head) != 4:
            os._exit(0)  # the shim has nothing to run
        spec = json.loads(exactly(shim, struct.unpack(">I", head)[0]))
        become(config, spec, received(ancillary))
        code = compile_script(spec["path"])
        gc.enable()
        deferred.resume()
        shim.sendall(b"ready\n")
    except BaseException as error:
        try:
            shim.sendall(f"{type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(1)
    if shim.recv(1) != b"g":
        os._exit(1)
    shim.close()
    return code


def exactly(connection: socket.socket, size: int) -> bytes:
    parts = []
    while size > 0:
        part = connection.recv(min(size, 1 << 20))
        if not part:
            os._exit(0)
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def become(config: dict, spec: dict, files: list) -> None:
    """Gives this process the state that it would have after a cold start."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setpgid(0, 0)
    for place, file in enumerate(files):
        os.dup2(file, place)
        os.close(file)
    os.chdir(spec["dir"])
    environ = dict(pair.partition("=")[::2] for pair in spec["env"])
    os.environ.clear()
    os.environ.update(environ)
    script, arguments = spec["path"], spec["argv"][1:]
    sys.orig_argv[:] = [*config["interpreter"], script, *arguments]
    sys.argv[:] = [script, *arguments]
    with open("/proc/self/comm", "w") as comm:
        comm.write(os.path.basename(script))
    set_memory(sys.orig_argv, os.environ)
    refresh()


def refresh() -> None:
    """Corrects what modules have kept of the parent's own surroundings."""
    importlib.invalidate_caches()
    site = sys.modules.get("site")
    if site is not None and site.USER_BASE is not None:
        site.USER_BASE = site.USER_SITE = None
        if site.ENABLE_USER_SITE and os.path.isdir(site.getusersitepackages()):
            raise Unfit("the home directory has Python packages")
        site.getusersitepackages()
    tempfile = sys.modules.get("tempfile")
    if tempfile is not None:
        tempfile.tempdir = None
    process = sys.modules.get("multiprocessing.process")
    if process is not None:
        process.ORIGINAL_DIR = os.getcwd()
        process.current_process().authkey = os.urandom(32)


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


def compile_script(path: str):
    """Puts the script in the place of this file. Returns its code."""
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec")
    module = types.ModuleType("__main__")
    module.__dict__.update(MAIN, __doc__=None, __file__=path, __builtins__=__builtins__)
    if "__loader__" in MAIN:
        module.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
    sys.modules["__main__"] = module
    return code, module


def run(code, module, learned, reports: str) -> None:
    """Runs the script. An exception is shown as if this file were not there."""
    try:
        exec(code, module.__dict__)
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        error.__traceback__ = error.__traceback__.tb_next
        sys.excepthook(type(error), error, error.__traceback__)
        raise SystemExit(1) from None
    finally:
        learned.report(reports)


if __name__ == "__main__":
    INHERITED = frozenset(open_files() - {0, 1, 2, CONTROL})
    run(*parent(json.loads(sys.argv[1])))
