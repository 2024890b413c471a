"""Imports the SDK once and forks what a worker runs: attempts, and processes that serve more of them.

The worker's program runs this file with the Python of the user's environment. Each process that serves has a socket to the
worker (file 3 in the first one), over which it gets requests and reports what became of them. A message is its length (four
bytes, big endian) and JSON. There are three kinds of servers:

    base      has the SDK. It forks attempts that load their code themselves, and the other two.
    loaded    has a code bundle and its module as well, where a fork of that is safe. It forks attempts.
    shared    runs several attempts of async tasks as coroutines of one process (shared.py).

A request can be refused up to the moment before the task's own code runs. The worker then takes a slower way: a fork of the
base in place of one of the loaded server, or a process of its own.

Servers end with their socket. What they have forked ends with them.
"""

import sys

MAIN = dict(globals())  # what the interpreter puts into __main__

import array
import atexit
import gc
import json
import os
import select
import signal
import socket
import struct
import threading
import types

#: The socket to the worker.
CONTROL = 3

#: Files that whoever started the worker has left open. Processes of attempts that are not forked have them, too.
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
lazy = load_file("lazy")
unseeded = load_file("unseeded", forkable=forkable)
observe = load_file("observe", forkable=forkable, unseeded=unseeded)
preload = load_file("preload", forkable=forkable, observe=observe)
shared = load_file("shared", preload=preload)


class Control:
    """A socket to the worker."""

    def __init__(self, connection: socket.socket):
        self.connection = connection

    def send(self, **message) -> None:
        body = json.dumps(message).encode()
        self.connection.sendall(struct.pack(">I", len(body)) + body)

    def receive(self):
        """The next message and its files; None at the end."""
        try:
            head, ancillary, _, _ = self.connection.recvmsg(4, socket.CMSG_SPACE(4 * 4))
        except ConnectionResetError:  # the worker was killed
            return None, []
        files = array.array("i")
        for level, kind, data in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                files.frombytes(data[: len(data) - len(data) % files.itemsize])
        head += self.exactly(4 - len(head)) if head else b""
        if len(head) < 4:
            return None, []
        size = struct.unpack(">I", head)[0]
        body = self.exactly(size)
        return (json.loads(body), list(files)) if len(body) == size else (None, [])

    def exactly(self, size: int) -> bytes:
        """The next bytes; fewer at the end."""
        parts = []
        while size > 0:
            part = self.connection.recv(min(size, 1 << 20))
            if not part:
                break
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


class Child:
    """A process that this server has forked for a request."""

    def __init__(self, request: int, pid: int, report: int):
        self.request, self.pid, self.report, self.text, self.ended = request, pid, report, b"", False
        try:
            self.handle = os.pidfd_open(pid)
        except (OSError, AttributeError):
            self.handle = -1  # the end is found by looking again and again


class Server:
    """Forks what it is asked for. run returns in forked processes, with what they are to do."""

    def __init__(self, control: Control, deferred, script: str, interpreter: list, code=None):
        """code is what the import of the code has read and done, in a loaded server."""
        self.control, self.deferred, self.script, self.interpreter, self.code = control, deferred, script, interpreter, code
        self.children = {}

    def run(self):
        poll = select.poll()
        poll.register(self.control.connection, select.POLLIN)
        for child in self.children.values():
            self.watch(poll, child)
        while True:
            blind = any(child.handle < 0 and not child.ended for child in self.children.values())
            for file, _ in poll.poll(10 if blind else None):
                if file == self.control.connection.fileno():
                    message, files = self.control.receive()
                    if message is None:
                        os._exit(0)
                    task = self.handle(poll, message, files)
                    if task is not None:
                        return task
            for child in list(self.children.values()):
                self.look(poll, child)

    def handle(self, poll, message: dict, files: list):
        if message["do"] == "reap":
            child = self.children.pop(message["request"])
            _, status, usage = os.wait4(child.pid, 0)
            self.control.send(reaped=child.request, cpu=usage.ru_utime + usage.ru_stime)
            return None
        reader, writer = os.pipe2(os.O_CLOEXEC)
        try:
            pid = os.fork()
        except OSError as error:
            self.control.send(refused=message["request"], why=f"fork: {error}")
            pid = -1
        if pid == 0:
            os.close(reader)
            return message, files, writer
        for file in (*files, writer):
            os.close(file)
        if pid < 0:
            os.close(reader)
            return None
        self.control.send(forked=message["request"], pid=pid)
        child = self.children[message["request"]] = Child(message["request"], pid, reader)
        self.watch(poll, child)
        return None

    @staticmethod
    def watch(poll, child: Child) -> None:
        poll.register(child.report, select.POLLIN)
        if child.handle >= 0:
            poll.register(child.handle, select.POLLIN)

    def look(self, poll, child: Child) -> None:
        """Reports what is new of a child: that it is ready, that it refuses, that it has ended."""
        if child.report >= 0 and select.select([child.report], [], [], 0)[0]:
            part = os.read(child.report, 1 << 16)
            child.text += part
            if not part:
                poll.unregister(child.report)
                os.close(child.report)
                child.report = -1
                if not child.text:
                    self.control.send(started=child.request, pid=child.pid)
        if child.ended or child.report >= 0:
            return  # the end is reported after the start
        if child.handle >= 0 and not select.select([child.handle], [], [], 0)[0]:
            return
        state = os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if state is None:
            return
        child.ended = True
        if child.handle >= 0:
            poll.unregister(child.handle)
            os.close(child.handle)
        if child.text:
            os.waitpid(child.pid, 0)
            del self.children[child.request]
            self.control.send(refused=child.request, why=child.text.decode(errors="replace"))
            return
        exited = state.si_code == os.CLD_EXITED
        self.control.send(ended=child.request, exited=exited, code=state.si_status)

    # ------------------------------------------------------------ in forked processes

    def leave(self, server: int) -> None:
        """Makes a forked process independent of the server, apart from that it ends with it."""
        forkable.prctl(forkable.PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != server:
            os._exit(0)
        os.setsid()
        self.control.connection.close()
        for child in self.children.values():
            for file in (child.report, child.handle):
                if file >= 0 and not child.ended:
                    os.close(file)
        self.children.clear()


def attempt(server: Server, message: dict, log: int, ready: int):
    """Becomes the process of an attempt. Returns what it is to run."""
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    become(server, message)
    code, module = forkable.compile_script(server.script, MAIN)
    gc.enable()
    if server.code is not None:
        server.code.resume()
    server.deferred.resume()
    if server.code is not None:
        server.code.start()
    os.close(ready)
    return code, module


def become(server: Server, message: dict) -> None:
    """Gives this process what one of the same attempt would have that was started on its own."""
    os.chdir(message["dir"])
    environ(message["env"])
    arguments = message["args"][1:]
    sys.orig_argv[:] = [*server.interpreter, server.script, *arguments]
    sys.argv[:] = [server.script, *arguments]
    try:
        with open("/proc/self/comm", "w") as comm:
            comm.write(os.path.basename(server.script))
        forkable.set_memory(sys.orig_argv, os.environ)
    except (OSError, KeyError, ValueError):
        pass  # what is shown as the command line then is the server's
    forkable.refresh(sys.modules)
    forkable.reseed(sys.modules)


def environ(variables: dict) -> None:
    for name in [name for name in os.environ if name not in variables]:
        del os.environ[name]
    for name, value in variables.items():
        if os.environ.get(name) != value:
            os.environ[name] = value


def serve(server: Server):
    """Serves until this is a forked process that has something else to do, and returns what."""
    while True:
        pid = os.getpid()
        message, files, ready = server.run()
        try:
            server.leave(pid)
            match message["do"]:
                case "run":
                    code, module = attempt(server, message, files[0], ready)
                    return lambda: execute(code, module)
                case "fetch":
                    os.chdir(message["dir"])
                    environ(message["env"])
                    gc.enable()
                    server.deferred.resume()
                    os.close(ready)
                    return lambda: preload.fetch(message)
                case "load":
                    os.chdir(message["dir"])
                    environ(message["env"])
                    sys.argv[:] = [server.script, *message["args"][1:]]
                    code = preload.load(message, server.deferred)
                    read = code.read()
                    control = Control(socket.socket(fileno=files[0]))
                    control.connection.set_inheritable(False)
                    forkable.check({files[0], ready, *INHERITED}, sources=code.chance.sources)
                    freeze()
                    control.send(read=read["variables"], arguments=read["arguments"], count=read["count"])
                    server = Server(control, server.deferred, server.script, server.interpreter, code)
                    os.close(ready)
                case "share":
                    os.chdir(message["dir"])
                    environ(message["env"])
                    sys.argv[:] = message["args"]
                    forkable.refresh(sys.modules)
                    gc.enable()
                    server.deferred.resume()
                    control = Control(socket.socket(fileno=files[0]))
                    control.connection.set_inheritable(False)
                    os.close(ready)
                    return lambda: shared.serve(control, message)
        except BaseException as error:
            try:
                os.write(ready, f"{type(error).__name__}: {error}".encode()[:4096])
            finally:
                os._exit(1)


def freeze() -> None:
    """Keeps collections from copying pages that forked processes share."""
    gc.collect()
    gc.disable()
    gc.freeze()


def execute(code, module) -> None:
    """Runs the script. An exception is shown as if this file were not there."""
    try:
        exec(code, module.__dict__)
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        error.__traceback__ = error.__traceback__.tb_next
        sys.excepthook(type(error), error, error.__traceback__)
        raise SystemExit(1) from None


def finish(run) -> None:
    """Ends the process as the interpreter would, without taking down all modules, which costs more than a small task."""
    code = 0
    try:
        run()
    except SystemExit as error:
        code = error.code or 0
        if not isinstance(code, int):
            print(code, file=sys.stderr)
            code = 1
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    try:
        threading._shutdown()
        atexit._run_exitfuncs()
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                code = code or 120
        os._exit(code & 0xFF)


def main(config: dict) -> None:
    connection = socket.socket(fileno=CONTROL)
    connection.set_inheritable(False)
    control = Control(connection)
    try:
        deferred = forkable.load(config["script"], config["modules"])
        forkable.prepare_tls()
        lazy.install()
        lazy.find_plugins()
        forkable.check({CONTROL, *INHERITED})
    except BaseException as error:
        control.send(unfit=f"{type(error).__name__}: {error}")
        raise
    freeze()
    control.send(read=sorted(forkable.ReadRecorder.names))
    finish(serve(Server(control, deferred, config["script"], config["interpreter"])))


if __name__ == "__main__":
    INHERITED = frozenset(forkable.open_files() - {0, 1, 2, CONTROL})
    main(json.loads(sys.argv[1]))
