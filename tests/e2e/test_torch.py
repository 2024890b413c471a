"""Real PyTorch on several pods that are processes of one machine (docs/demo.md). `make clusters-torch` prepares and runs this."""

import os
import pathlib
import signal

import flyte
import flyte.remote as remote
import pytest

from conftest import connect
from server import AS_USER, Server, alive, environ, eventually, refused
from test_flows import phase_of, result
from test_members import log_of, names

pytest.importorskip("torch", reason="PyTorch takes gigabytes, so `make clusters-torch` installs it and runs these tests")
pytest.importorskip("flyteplugins.pytorch", reason="as above")

from flows import on_torch  # noqa: E402


@pytest.fixture(scope="module")
def machine(tmp_path_factory, home):
    instance = Server(tmp_path_factory.mktemp("torch"), "--with", "pytorch,jobset", "--cpus", "8")
    instance.start()
    yield instance
    instance.stop()


@pytest.fixture(autouse=True)
def connected(machine):
    connect(machine)


def processes(folder: pathlib.Path) -> list[tuple[int, int]]:
    """The process of each rank and its agent, once all ranks compute."""
    def found():
        texts = [file.read_text().split() for file in sorted(folder.glob("pid-*"))]
        return [(int(one[0]), int(one[1])) for one in texts] if len(texts) == 3 and all(texts) else None
    return eventually(found, what="all ranks compute")


def rest(machine: Server, run: str) -> list[int]:
    """The processes that are left of a run."""
    numbers = (int(entry.name) for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit())
    return [pid for pid in numbers if run in (text := environ(pid)) and str(machine.data) in text and alive(pid)]


def error_of(run: str) -> str:
    return remote.RunDetails.get(run).action_details.error_info.message


def test_three_members_reduce(machine: Server):
    handle = flyte.run(on_torch.reduces)
    handle.wait(quiet=True)
    assert phase_of(handle) == "succeeded", error_of(handle.name)
    assert handle.outputs()[0] == [3, 7, 3]
    assert len(names(machine, handle.name)) == 3
    assert "rank" in "".join(log_of(machine, handle.name, pod) for pod in names(machine, handle.name))
    eventually(lambda: not rest(machine, handle.name), what="all processes end")


def test_torchrun_of_the_sdk_reduces_on_a_jobset(machine: Server):
    assert result(on_torch.reduces_twice)[0] == [4, 15, 2]


def test_two_jobs_run_at_the_same_time(machine: Server):
    handles = [flyte.run(on_torch.reduces) for _ in range(2)]
    for handle in handles:
        handle.wait(quiet=True)
    assert [phase_of(handle) for handle in handles] == ["succeeded", "succeeded"]
    assert [handle.outputs()[0] for handle in handles] == [[3, 7, 3]] * 2


def test_a_jobset_whose_rank_dies_starts_again(machine: Server):
    assert result(on_torch.dies_once)[0] == [2, 3, 2]


def test_max_restarts_starts_the_ranks_again(machine: Server, tmp_path: pathlib.Path):
    handle = flyte.run(on_torch.dies_in_its_first_round, str(tmp_path))
    handle.wait(quiet=True)
    assert phase_of(handle) == "succeeded", error_of(handle.name)
    assert handle.outputs()[0] == [3, 7, 3]
    assert len(remote.ActionDetails.get(run_name=handle.name, name="a0").pb2.attempts) == 1, "a restart of the ranks is no attempt"


def test_torchrun_starts_its_ranks_again(machine: Server, tmp_path: pathlib.Path):
    assert result(on_torch.dies_in_its_pod, str(tmp_path))[0] == [2, 3, 2, 0]


def test_a_rank_that_dies_is_in_the_error(machine: Server, tmp_path: pathlib.Path):
    handle = flyte.run(on_torch.never_ends, str(tmp_path))
    os.kill(processes(tmp_path)[1][0], signal.SIGKILL)
    handle.wait(quiet=True)
    assert phase_of(handle) == "failed"
    assert "worker-" in error_of(handle.name), error_of(handle.name)
    eventually(lambda: not rest(machine, handle.name), what="all processes end")


def test_a_member_that_dies_is_named(machine: Server, tmp_path: pathlib.Path):
    handle = flyte.run(on_torch.never_ends, str(tmp_path))
    agent = processes(tmp_path)[2][1]
    os.kill(agent, signal.SIGKILL)
    handle.wait(quiet=True)
    assert phase_of(handle) == "failed"
    assert "worker-" in error_of(handle.name), error_of(handle.name)
    eventually(lambda: not rest(machine, handle.name), what="all processes end")


def test_an_abort_leaves_no_process(machine: Server, tmp_path: pathlib.Path):
    handle = flyte.run(on_torch.never_ends, str(tmp_path))
    processes(tmp_path)
    handle.abort()
    eventually(lambda: not rest(machine, handle.name), what="all processes end")
    assert phase_of(handle) == "aborted"


def test_a_killed_demo_goes_on_with_its_members(machine: Server, tmp_path: pathlib.Path):
    handle = flyte.run(on_torch.never_ends, str(tmp_path))
    running = [pid for pair in processes(tmp_path) for pid in pair]
    machine.kill()
    machine.start()
    connect(machine)
    assert all(alive(pid) for pid in running)
    eventually(lambda: len(names(machine, handle.name)) == 3, what="all members are known")
    os.kill(running[0], signal.SIGKILL)
    remote.Run.get(handle.name).wait(quiet=True)
    assert phase_of(handle) == "failed"
    eventually(lambda: not rest(machine, handle.name), what="all processes end")


def test_a_user_without_root_reduces(tmp_path: pathlib.Path, home):
    """Without user namespaces the demo refuses --with pytorch, see test_members."""
    if why := refused(AS_USER):
        pytest.skip(f"this machine allows no user namespaces: {why}")
    instance = Server(tmp_path, "--with", "pytorch", "--cpus", "8", within=AS_USER)
    instance.start()
    try:
        connect(instance)
        total = result(on_torch.reduces)[0]
        assert total[:2] == [3, 7]
    finally:
        instance.stop()
