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
from warm_cli import WarmCommand

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
LONG = ["test_outside", "test_neighbours", "test_faults", "test_flows", "test_cache", "test_app_faults", "test_apps"]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(pytest.mark.timeout(TEST_LIMIT))

    def place(item: pytest.Item) -> int:
        return LONG.index(item.path.stem) if item.path.stem in LONG else len(LONG)

    items.sort(key=place)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log):
    """With --dist loadscope, the tests of a folder are one scope, as those of a file are: they share a server."""
    if config.getvalue("dist") != "loadscope":
        return None
    from xdist.scheduler import LoadScopeScheduling  # not every environment of these tests has it

    class Folders(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            folder, _, _ = nodeid.split("::", 1)[0].rpartition("/")
            return folder or super()._split_scope(nodeid)

    return Folders(config, log)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory):
    """A demo server on a free port, with the default configuration. No test stops it or kills parts of it."""
    instance = Server(tmp_path_factory.mktemp("demo"))
    instance.start()
    yield instance
    instance.stop()


# Queues that some tests need and others do not notice.
QUEUES = "runs.queues=narrow maxActions=1, nightly maxRuns=1, short maxActions=1 maxDepth=1, elsewhere projects=other"


@pytest.fixture(scope="session")
def shared_fragile(tmp_path_factory: pytest.TempPathFactory, home):
    instance = Server(tmp_path_factory.mktemp("fragile"), "--set", QUEUES)
    yield instance
    instance.stop()


@pytest.fixture
def fragile(shared_fragile: Server):
    """The worker's other demo server, which tests may kill and start again, and which has queues. It runs and the SDK is
    connected to it, whatever the test before did."""
    if shared_fragile.process is None or shared_fragile.process.poll() is not None:
        shared_fragile.start()
    connect(shared_fragile)
    return shared_fragile


@pytest.fixture(scope="session", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory):
    """A home of its own: the SDK remembers uploaded bundles there, per endpoint."""
    path = tmp_path_factory.mktemp("home")
    os.environ["HOME"] = str(path)
    os.environ["FLYTE_DISABLE_SENTRY"] = "1"
    return path


def connect(instance: Server, root: pathlib.Path = ROOT, domain: str = "development") -> None:
    """Configures this process's SDK for a server. Tasks are in modules below root."""
    flyte.init(
        endpoint=f"dns:///{instance.endpoint}",
        insecure=True,
        project="flytesnacks",
        domain=domain,
        image_builder="remote",
        root_dir=root,
    )


@pytest.fixture
def sdk(server: Server):
    """The SDK, connected to the session's server."""
    connect(server)
    return flyte


@pytest.fixture(scope="session")
def warm_command(home: pathlib.Path):
    """The command line, imported once for all tests that only use it."""
    command = WarmCommand(environment())
    yield command
    command.close()


@pytest.fixture
def cli(server: Server, tmp_path: pathlib.Path, warm_command: WarmCommand):
    """Runs the flyte command line and returns its output; it fails the test on a non-zero exit."""
    return command_line(server, tmp_path, warm=warm_command)


def environment() -> dict[str, str]:
    """The variables of a command whose output is read."""
    return dict(os.environ, COLUMNS="300", NO_COLOR="1", TERM="dumb")


def command_line(server: Server, folder: pathlib.Path, code: pathlib.Path = ROOT, warm: WarmCommand | None = None):
    """The flyte command line pointed at a server, run where the code is. Its configuration goes into the folder."""
    config = folder / "config.yaml"
    config.write_text(
        f"admin: {{endpoint: 'dns:///{server.endpoint}', insecure: true}}\n"
        "task: {project: flytesnacks, domain: development}\n"
        "image: {builder: remote}\n"
    )

    def execute(words: list[str], timeout: float) -> tuple[int, str]:
        if warm is not None:
            return warm.run(words, code, environment(), timeout)
        done = subprocess.run(
            [str(pathlib.Path(sys.executable).parent / "flyte"), *words],
            cwd=code, env=environment(), text=True, capture_output=True, timeout=timeout,
        )
        return done.returncode, done.stdout + done.stderr

    def run(*words: str, check: bool = True, timeout: float = 600) -> str:
        status, output = execute(["--config", str(config), "-of", "json", *words], timeout)
        if check and status not in (0, ABORTED_AT_EXIT):
            pytest.fail(f"flyte {' '.join(words)} exited {status}\n{output}")
        return output

    return run
