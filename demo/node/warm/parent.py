"""Imports the SDK once and forks the processes of tasks, which so start without the cost of the import.

The local node runs this file with the interpreter of a Python environment. docs/warm-starts.md explains the design. In short:

    parent (this file) --fork--> A --fork--> B
                                 |           |
                       exec: the shim        the task

Where there are many cores, the parent forks a few processes like itself first, and each of them does the same.

A becomes the shim of one container, so B is the shim's child, as in a cold start: the shim waits for it and ends it. B waits
until the shim has sent what the process is to be. Before B has said that it is ready and the shim has said go, B runs
nothing of the task, so that up to there the shim can start the container cold instead.

The parent gets no data of any task. All of its failures are cold starts.
"""

import sys

MAIN = dict(globals())  # what the interpreter puts into __main__

import array
import atexit
import ctypes
import gc
import json
import os
import signal
import socket
import struct
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


def load_file(name: str, **given):
    """Runs a Python file of this directory as a module, with the given names defined in it. The module is not in sys.modules, since
    a task may have one of the same name."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".py")
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec")
    program = types.ModuleType(name)
    program.__dict__.update(given)
    exec(code, program.__dict__)
    return program


forkable = load_file("forkable")


def load_learned(config: dict):
    """Imports what tasks have used."""
    effects, order = load_file("effects", forkable=forkable), load_file("order", forkable=forkable)
    learned = load_file("learned", forkable=forkable, effects=effects, order=order).Learned()
    with forkable.recorded(), forkable.Deferred() as deferred:
        learned.load(config, forkable.ReadRecorder.names, deferred)
    return learned


# ---------------------------------------------------------------- the parent


class Imported:
    """Keeps what was imported before the fork from being taken apart at the end of a task, which costs a fifth of a warm start. The
    modules that the task itself imports end as always. Make it before the imports, so that it is the last function that runs at exit."""

    def __init__(self):
        self.modules = {}
        atexit.register(self._keep)

    def remember(self, others: dict) -> None:
        """Keeps what is in sys.modules now, and other modules that a task may import."""
        self.modules = {name: module for name, module in sys.modules.items() if name not in ("sys", "builtins", "__main__")} | others

    def _keep(self) -> None:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.modules))
        for name, module in self.modules.items():
            if sys.modules.get(name) is module:
                sys.modules[name] = StandIn(module)


class StandIn:
    """Takes the place of a module in sys.modules at the end: the interpreter only takes apart what is a module. A thread that still
    runs can import from it."""

    def __init__(self, module):
        self._module = module

    def __getattr__(self, name):
        return getattr(self._module, name)


def parent(config: dict):
    """Serves the node until it hangs up. Returns in each task, with what it is to run."""
    control = socket.socket(fileno=CONTROL)
    control.set_inheritable(False)
    imported = Imported()
    try:
        deferred = forkable.load(config["script"], config["modules"])
        forkable.prepare_tls()
        plain = anonymous()
        learned = load_learned(config)
        found = learned.sources()
        forkable.set_memory(sys.orig_argv[:1] + ["flyte-binary: warm parent of " + config["script"]], os.environ)
        forkable.check({CONTROL, *INHERITED}, sys.modules | learned.modules())
    except BaseException as error:
        said = {"unfit": f"{type(error).__name__}: {error}"}
        if type(error).__name__ == "Refused":
            said["refused"], said["unfit"] = error.args
        control.sendall(json.dumps(said).encode() + b"\n")
        raise
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps the shims
    imported.remember(learned.modules())
    gc.collect()
    gc.disable()  # a collection would copy pages that tasks share
    gc.freeze()
    extra = max(0, anonymous() - plain) if learned.units else 0
    control.sendall(json.dumps({"read": sorted(forkable.ReadRecorder.names), "sources": found, "learned": learned.cost}).encode() + b"\n")
    share(config)
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
            return (*child(config, deferred, control, files, learned, extra), learned, config["reports"])
        for file in files:
            os.close(file)


def share(config: dict) -> None:
    """Forks the other processes that serve the node on the same socket: each request goes to one of them. A fork copies the tables of all
    memory, which one process does for one task at a time."""
    served = os.getpid()
    for _ in range(config["forkers"] - 1):
        if os.fork() == 0:
            forkable.prctl(forkable.PR_SET_PDEATHSIG, signal.SIGKILL)  # cleared in what it forks
            if os.getppid() != served:
                os._exit(0)
            forkable.set_memory(sys.orig_argv[:1] + ["flyte-binary: forks for " + config["script"]], os.environ)
            return


def received(ancillary) -> list:
    files = array.array("i")
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            files.frombytes(data[: len(data) - len(data) % files.itemsize])
    return list(files)


def anonymous() -> int:
    """Bytes of memory of this process that no file backs. What is garbage does not count."""
    gc.collect()
    try:
        with open("/proc/self/smaps_rollup", "rb") as file:
            return sum(int(line.split()[1]) << 10 for line in file if line.startswith(b"Anonymous:"))
    except OSError:
        return 0


def child(config: dict, deferred: forkable.Deferred, control: socket.socket, files: list, learned, extra: int):
    """Is process A of the drawing. Returns in process B. extra are the bytes that learned packages take."""
    try:
        os.setsid()
        forkable.prctl(forkable.PR_SET_CHILD_SUBREAPER, 1)  # the shim says so too, but must have said it before B is made
        above, below = socket.socketpair()
        shim = os.getpid()
        waiting = os.fork()
        if waiting == 0:
            forkable.prctl(forkable.PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != shim:
                os._exit(0)
            return wait(config, deferred, alone(control, above, below), learned)
        become_shim(config["shim"], [str(waiting), str(extra)], above.fileno(), files)
    except BaseException:
        os._exit(1)


def alone(control: socket.socket, above: socket.socket, below: socket.socket) -> socket.socket:
    """Closes what belongs to the parent and the shim, and returns the last."""
    control.detach(), above.detach()
    for file in forkable.open_files() - {0, 1, 2, below.fileno(), *INHERITED}:
        os.close(file)
    return below


def become_shim(shim: dict, arguments: list, above: int, files: list) -> None:
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
    os.execve(shim["path"], [shim["path"], *shim["arguments"], *arguments], shim["env"])


# ---------------------------------------------------------------- the task


def wait(config: dict, deferred: forkable.Deferred, shim: socket.socket, learned):
    """Is process B: becomes what the shim says. Returns what to run."""
    try:
        head, ancillary, _, _ = shim.recvmsg(4, socket.CMSG_SPACE(4 * 3))
        if len(head) != 4:
            os._exit(0)  # the shim has nothing to run
        spec = json.loads(exactly(shim, struct.unpack(">I", head)[0]))
        modules = sys.modules | learned.modules()
        become(config, spec, received(ancillary), modules)
        forkable.reseed(modules)
        code = forkable.compile_script(spec["path"], MAIN)
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


def become(config: dict, spec: dict, files: list, modules: dict) -> None:
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
    forkable.set_memory(sys.orig_argv, os.environ)
    forkable.refresh(modules)


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
    INHERITED = frozenset(forkable.open_files() - {0, 1, 2, CONTROL})
    run(*parent(json.loads(sys.argv[1])))
