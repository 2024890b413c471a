"""One demo server per worker, and the SDK configured for it. Workers do not share servers: a node runs few tasks at a time, so
tests that hold them would block those of another worker."""

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

# Threads of the client's HTTP library sometimes abort the process while the interpreter exits, after the work is done. Only
# the output of a command counts.
ABORTED_AT_EXIT = -signal.SIGABRT


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    session.config.stash[STATUS] = int(exitstatus)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Skips the interpreter's shutdown, for the reason above; all fixtures are torn down and all results are reported."""
    status = config.stash.get(STATUS, None)
    if status is not None:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


STATUS = pytest.StashKey[int]()


# A test that hangs fails, with the stacks of all threads. The longest takes two minutes on a busy machine.
TEST_LIMIT = 15 * 60  # seconds


# These files take longest. They come first, so that no worker runs one of them last while the others are idle.
LONG = ["test_outside", "test_faults", "test_flows", "test_cache", "test_app_faults", "test_apps"]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(pytest.mark.timeout(TEST_LIMIT))

    def place(item: pytest.Item) -> int:
        return LONG.index(item.path.stem) if item.path.stem in LONG else len(LONG)

    items.sort(key=place)


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
    """Configures this process's SDK for a server."""
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


def command_line(server: Server, folder: pathlib.Path, code: pathlib.Path = ROOT):
    """The flyte command line pointed at a server, run where the code is. Its configuration goes into the folder."""
    config = folder / "config.yaml"
    config.write_text(
        f"admin: {{endpoint: 'dns:///{server.endpoint}', insecure: true}}\n"
        "task: {project: flytesnacks, domain: development}\n"
        "image: {builder: remote}\n"
    )

    def run(*words: str, check: bool = True, timeout: float = 600) -> str:
        env = dict(os.environ, COLUMNS="300", NO_COLOR="1", TERM="dumb")
        done = subprocess.run(
            [str(pathlib.Path(sys.executable).parent / "flyte"), "--config", str(config), "-of", "json", *words],
            cwd=code, env=env, text=True, capture_output=True, timeout=timeout,
        )
        if check and done.returncode not in (0, ABORTED_AT_EXIT):
            pytest.fail(f"flyte {' '.join(words)} exited {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done.stdout + done.stderr

    return run
