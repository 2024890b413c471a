"""Starts and kills demo servers for the tests."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

BINARY = pathlib.Path(os.environ.get("FLYTE_BINARY_DEMO", pathlib.Path(__file__).resolve().parents[2] / "bin" / "flyte-binary"))


def free_port() -> int:
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def open_to_postgres(folder: pathlib.Path) -> None:
    """Lets other accounts traverse pytest's private directories: under root, Postgres runs as one of them."""
    if os.geteuid() != 0:
        return
    temporary = pathlib.Path(tempfile.gettempdir())
    for step in (folder, *folder.parents):
        if step == temporary or temporary not in step.parents:
            return
        step.chmod(step.stat().st_mode | 0o011)


# Each runs a program as a user who is not root, has no rights, and still reads the files of these tests. The second one may not
# create namespaces, as on machines that forbid them.
AS_USER = ("unshare", "--user", "--map-user=1000", "--map-group=1000")
WITHOUT_NAMESPACES = (
    *AS_USER, "--keep-caps", "sh", "-c",
    'echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --ambient-caps=-all --inh-caps=-all "$@"', "sh",
)


def refused(within: tuple[str, ...]) -> str:
    """Why this machine cannot run a program within one of these; empty if it can."""
    return subprocess.run([*within, "true"], capture_output=True, text=True).stderr


class Server:
    """A demo server: its process, its data directory, its port."""

    def __init__(self, folder: pathlib.Path, *flags: str, within: tuple[str, ...] = ()):
        self.folder = folder
        self.within = within  # a command that runs the server
        self.data = folder / "data"
        self.log = folder / "server.log"
        self.flags = flags
        self.port = free_port()
        self.process: subprocess.Popen | None = None

    @property
    def endpoint(self) -> str:
        return f"localhost:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.endpoint}"

    def command(self) -> list[str]:
        env_dir = pathlib.Path(sys.executable).parent.parent
        return [*self.within, str(BINARY), "demo", "--data-dir", str(self.data), "--listen", f"127.0.0.1:{self.port}",
                "--python", str(env_dir), *self.flags]

    def start(self, timeout: float = 600) -> None:
        open_to_postgres(self.folder)  # each time: every pytest that starts on this machine closes the directory that they share
        out = self.log.open("ab")
        self.process = subprocess.Popen(
            self.command(), stdout=out, stderr=out, stdin=subprocess.DEVNULL, start_new_session=True,
        )
        self.wait_ready(timeout)

    def wait_ready(self, timeout: float = 600) -> None:
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if self.process is not None and self.process.poll() is not None:
                raise RuntimeError(f"the server exited with {self.process.returncode}:\n{self.tail()}")
            if self.ready():
                return
            time.sleep(0.1)
        raise TimeoutError(f"the server is not ready:\n{self.tail()}")

    def ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=20) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False

    def tail(self) -> str:
        return self.log.read_text(errors="replace")[-6000:] if self.log.exists() else ""

    def files(self, below: str = ""):
        """The files below the server's directory, or a folder of it, by their paths in it, with their content."""
        for folder, _, names in os.walk(self.data / below):  # unlike rglob, it allows that folders of a running server come and go
            for path in (pathlib.Path(folder, name) for name in names):
                try:
                    if path.is_file() and not path.is_symlink():
                        yield path.relative_to(self.data), path.read_bytes()
                except OSError:
                    continue  # so do files

    def kill(self) -> None:
        """kill -9 of the server process alone."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """What Ctrl-C does."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(timeout=300)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise

    def children(self, word: str) -> list[int]:
        """The server's child processes whose command line has the word."""
        assert self.process is not None
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            with contextlib.suppress(OSError):
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                if int(fields[1]) != self.process.pid:
                    continue
                if word in (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"):
                    found.append(int(entry.name))
        return found

    def call(self, procedure: str, body: dict, headers: dict | None = None) -> tuple[int, dict]:
        """A plain JSON call; the status and the decoded answer."""
        request = urllib.request.Request(
            f"{self.url}/{procedure}", data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json", **(headers or {})},
        )
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return answer.status, json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as error:
            raw = error.read()
            try:
                return error.code, json.loads(raw)
            except ValueError:
                return error.code, {"raw": raw.decode(errors="replace")}


def alive(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def environ(pid: int) -> str:
    """The variables of a process, one after the other; empty if it is gone."""
    try:
        return pathlib.Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def processes_naming(*words: str) -> list[int]:
    """Processes of this machine whose command lines have all the words."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if all(word in line for word in words):
                    found.append(int(entry.name))
    return found


def eventually(condition, timeout: float = 600, what: str = "the condition"):
    """Polls until the condition returns a true value, and returns it. The limit is wide, for busy machines; a passing test never
    comes near it."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not come true in {timeout} s")
        time.sleep(0.2)
