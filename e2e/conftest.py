"""One demo server for the whole session, and the SDK pointed at it."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys

import flyte
import pytest

from server import Server

ROOT = pathlib.Path(__file__).resolve().parent

# The client's HTTP library has threads of its own, which now and then abort the process while the interpreter ends: after
# all is done and said. What a command printed is what counts.
ABORTED_AT_EXIT = -signal.SIGABRT


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    session.config.stash[STATUS] = int(exitstatus)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Ends without the interpreter's end, for the reason above; all fixtures have been torn down, all results are told."""
    status = config.stash.get(STATUS, None)
    if status is not None:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


STATUS = pytest.StashKey[int]()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory):
    """A demo server on a free port. Tests that kill parts of it start their own."""
    instance = Server(tmp_path_factory.mktemp("demo"))
    instance.start()
    yield instance
    instance.stop()


@pytest.fixture(scope="session", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory):
    """A home of its own: the SDK remembers uploaded bundles there, per endpoint."""
    path = tmp_path_factory.mktemp("home")
    os.environ["HOME"] = str(path)
    os.environ["FLYTE_DISABLE_SENTRY"] = "1"
    return path


def connect(instance: Server) -> None:
    """Points this process's SDK at a server."""
    flyte.init(
        endpoint=f"dns:///{instance.endpoint}",
        insecure=True,
        project="flytesnacks",
        domain="development",
        image_builder="remote",
        root_dir=ROOT,
    )


@pytest.fixture
def sdk(server: Server):
    """The SDK, connected to the session's server."""
    connect(server)
    return flyte


@pytest.fixture
def cli(server: Server, tmp_path: pathlib.Path, home: pathlib.Path):
    """Runs the flyte command line and returns its output; it fails the test on a non-zero exit."""
    return command_line(server, tmp_path)


def command_line(server: Server, folder: pathlib.Path):
    """The flyte command line pointed at a server. Its configuration goes into the folder."""
    config = folder / "config.yaml"
    config.write_text(
        f"admin: {{endpoint: 'dns:///{server.endpoint}', insecure: true}}\n"
        "task: {project: flytesnacks, domain: development}\n"
        "image: {builder: remote}\n"
    )

    def run(*words: str, check: bool = True, timeout: float = 120) -> str:
        env = dict(os.environ, COLUMNS="300", NO_COLOR="1", TERM="dumb")
        done = subprocess.run(
            [str(pathlib.Path(sys.executable).parent / "flyte"), "--config", str(config), "-of", "json", *words],
            cwd=ROOT, env=env, text=True, capture_output=True, timeout=timeout,
        )
        if check and done.returncode not in (0, ABORTED_AT_EXIT):
            pytest.fail(f"flyte {' '.join(words)} exited {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done.stdout + done.stderr

    return run
