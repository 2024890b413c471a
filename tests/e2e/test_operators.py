"""The plugins of operators with the operators themselves: `make operators` builds them, and they run here as processes next to a demo,
whose API server and node run what they create. The tasks are submitted with the released plugins of the SDK."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import sys

import flyte
import flyte.remote as remote
import pytest
from flyteidl2.workflow.run_definition_pb2 import ClusterEvent

# The module below needs packages that only `make operators-python` installs.
pytest.importorskip("kubernetes", reason="needs the packages of operators: make operators operators-python, then make operators-test")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "operators"))

import operators

from conftest import connect
from server import Server, alive, eventually

why_not = operators.missing()
pytestmark = pytest.mark.skipif(bool(why_not), reason=why_not)

JOBSETS = ("jobset.x-k8s.io", "v1alpha2", "jobsets")
TFJOBS = ("kubeflow.org", "v1", "tfjobs")
TRAINJOBS = ("trainer.kubeflow.org", "v1alpha1", "trainjobs")
RUNTIMES = ("trainer.kubeflow.org", "v1alpha1", "trainingruntimes")
RAYJOBS = ("ray.io", "v1", "rayjobs")
RAYCLUSTERS = ("ray.io", "v1", "rayclusters")
DASKJOBS = ("kubernetes.dask.org", "v1", "daskjobs")
DASKCLUSTERS = ("kubernetes.dask.org", "v1", "daskclusters")
PYTORCHJOBS = ("kubeflow.org", "v1", "pytorchjobs")


class Bed:
    """A demo with the plugins of operators, and its cluster."""

    def __init__(self, folder: pathlib.Path, plugins: str = "pod,jobset,pytorch,mpi,tensorflow,ray,dask"):
        self.folder = folder
        # A warm parent would not see the names of the cluster, see cluster_names.
        self.server = Server(folder, "--warm", "off", "--cpus", "16", "--set",
                             f"executor.plugins.enabled={plugins}", "--set", "executor.plugins.probe=2s")

    def start(self) -> None:
        self.server.start()
        self.cluster = operators.Cluster(self.server)


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory, home):
    operators.name_services()
    made = Bed(tmp_path_factory.mktemp("operators"))
    made.start()
    yield made
    made.server.stop()


@pytest.fixture(autouse=True)
def connected(bed: Bed):
    connect(bed.server)


def running(start):
    """A fixture of an operator that runs for all tests of this file."""

    @pytest.fixture(scope="module")
    def operator(bed: Bed):
        process = start(bed.folder, bed.cluster)
        yield process
        process.stop()

    return operator


jobset, training = running(operators.jobset), running(operators.training)
kuberay, dask = running(operators.kuberay), running(operators.dask)


class Gang:
    """The directory of a task whose members follow plans, see flows.gang."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        folder.chmod(0o777)

    def plan(self, rank: int, words: str) -> None:
        (self.folder / f"plan-{rank}").write_text(words)

    def pid(self, rank: int) -> int:
        file = self.folder / f"member-{rank}"
        return int(eventually(lambda: file.exists() and file.read_text(), what=f"member {rank} is here"))

    def go(self) -> None:
        (self.folder / "go").write_text("")


@pytest.fixture
def gang(tmp_path: pathlib.Path) -> Gang:
    return Gang(tmp_path)


def submitted(task, **inputs):
    """The run; it waits until the executor has seen the operator's kind."""
    return flyte.run(task, **inputs)


def phase_of(run) -> str:
    return str(remote.Run.get(run.name).phase).rsplit(".", 1)[-1].lower()


def details(run):
    return remote.RunDetails.get(run.name).action_details


def ended(run) -> str:
    return eventually(lambda: (p := phase_of(run)) in ("succeeded", "failed", "aborted", "timed_out") and p, what="the run ends")


def events(run) -> list:
    return [e for a in details(run).pb2.attempts for e in a.cluster_events]


def kept_logs(bed: Bed, run) -> dict[str, str]:
    """The kept logs of a run, by their paths in the directory of logs."""
    return {str(f).split("/_logs/", 1)[1]: f.read_text(errors="replace")
            for f in (bed.server.data / "blobs").rglob("*.log") if "/_logs/" in str(f) and run.name in str(f)}


def succeed(bed: Bed, run):
    assert ended(run) == "succeeded", (details(run).error_info, bed.server.tail())
    return run.outputs()


def said_once(run) -> None:
    """Nothing is repeated, and a normal start warns of nothing."""
    lines = [(e.reason, e.message) for e in events(run)]
    assert len(lines) == len(set(lines)), lines
    warnings = [e for e in events(run) if e.type == ClusterEvent.TYPE_WARNING and e.reason != "OperatorSilent"]  # on a busy machine
    assert not warnings, warnings


def both_logs(bed: Bed, run, *texts: str) -> None:
    """The logs of all members are kept: that of the first at the attempt's own path."""
    def found():
        logs = kept_logs(bed, run)
        return any("/" not in path for path in logs) and all(any(text in log for log in logs.values()) for text in texts)
    eventually(found, timeout=120, what=f"the logs {texts} are kept")


def gone(bed: Bed, run, *kinds) -> None:
    eventually(lambda: not bed.cluster.left(run.name, *kinds), timeout=300, what=f"nothing is left of {run.name}")


class Checks:
    """What holds for the tasks of every operator whose members are alike."""

    task = None
    kinds: tuple[tuple[str, str, str], ...]

    def run(self, gang: Gang):
        return submitted(type(self).task, folder=str(gang.folder))

    def test_success(self, bed: Bed, operator, gang: Gang):
        run = self.run(gang)
        assert succeed(bed, run)[0] == "2 members met"
        said_once(run)
        both_logs(bed, run, "member 0 returns", "member 1 is here")
        gone(bed, run, *self.kinds)

    def test_an_error_of_a_worker_names_it(self, bed: Bed, operator, gang: Gang):
        gang.plan(0, "hold")
        gang.plan(1, "exit")
        run = self.run(gang)
        assert ended(run) == "failed"
        error = details(run).error_info
        assert "pod " in error.message and "-1" in error.message.split(": ", 1)[0], error
        assert error.kind == 1, error
        both_logs(bed, run, "member 0 is here", "member 1 is here")
        gone(bed, run, *self.kinds)

    def test_outputs_of_one_member_do_not_undo_the_failure_of_another(self, bed: Bed, operator, gang: Gang):
        gang.plan(1, "after 0")
        run = self.run(gang)
        assert ended(run) == "failed"
        assert "-1" in details(run).error_info.message.split(": ", 1)[0], details(run).error_info

    def test_a_killed_worker(self, bed: Bed, operator, gang: Gang):
        gang.plan(0, "hold")
        gang.plan(1, "hold")
        run = self.run(gang)
        gang.pid(0)
        kill_tree(gang.pid(1))
        assert ended(run) == "failed"
        assert "-1" in details(run).error_info.message.split(": ", 1)[0], details(run).error_info
        gone(bed, run, *self.kinds)

    def test_an_abort_leaves_nothing(self, bed: Bed, operator, gang: Gang):
        gang.plan(0, "hold")
        gang.plan(1, "hold")
        run = self.run(gang)
        pids = [gang.pid(0), gang.pid(1)]
        run.abort()
        assert ended(run) == "aborted"
        gone(bed, run, *self.kinds)
        eventually(lambda: not any(alive(pid) for pid in pids), what="the processes end")


def kill_tree(pid: int) -> None:
    """Kills the process of a member with the one that a launcher would report its end to."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(os.getpgid(pid), signal.SIGKILL)


class TestJobSet(Checks):
    kinds = (JOBSETS,)

    @pytest.fixture
    def operator(self, jobset):
        from flows import on_jobset

        type(self).task = on_jobset.meet
        return jobset

    def test_a_restart_is_told(self, bed: Bed, operator, gang: Gang):
        from flows import on_jobset

        gang.plan(1, "exit")
        run = submitted(on_jobset.meet_again, folder=str(gang.folder))
        eventually(lambda: any("restart 1" in e.message for e in events(run)), what="the restart is told")
        ended(run)


    def test_the_operator_is_away_when_the_members_end(self, bed: Bed, operator, gang: Gang):
        gang.plan(0, "hold")
        gang.plan(1, "hold")
        run = self.run(gang)
        gang.pid(0), gang.pid(1)
        operator.stop()
        gang.go()
        try:
            eventually(lambda: (pods := bed.cluster.pods(run.name)) and all(p.status.phase == "Succeeded" for p in pods), what="the pods end")
            assert phase_of(run) == "running", "the operator decides"
        finally:
            operator.start()
        assert succeed(bed, run)[0] == "2 members met"

    def test_the_definition_is_deleted_and_comes_back(self, bed: Bed, operator, gang: Gang):
        gang.plan(0, "hold")
        gang.plan(1, "hold")
        run = self.run(gang)
        gang.pid(0), gang.pid(1)
        bed.cluster.definitions.delete_custom_resource_definition("jobsets.jobset.x-k8s.io")
        eventually(lambda: len(details(run).pb2.attempts) == 2, what="the first attempt is lost")
        lost = details(run).pb2.attempts[0].error_info  # the object may go before its kind
        assert lost.code in ("OperatorMissing", "ResourceDeletedExternally"), lost
        eventually(lambda: any("install the JobSet controller" in e.message for e in events(run)), what="the action says what it waits for")
        bed.cluster.define("jobset.x-k8s.io_jobsets.yaml")
        operator.stop()
        operator.start()
        gang.go()
        assert succeed(bed, run)[0] == "2 members met"
        gone(bed, run, *self.kinds)


class Torch(Checks):
    """The launcher of each member notices the end of the others, and names them by their ranks. All have one address here, so any of them
    may be the rendezvous: the others may lose that first."""

    def test_an_error_of_a_worker_names_it(self, bed: Bed, operator, gang: Gang):
        gang.plan(0, "hold")
        gang.plan(1, "exit")
        run = self.run(gang)
        assert ended(run) == "failed"
        assert details(run).error_info.message.startswith("worker pod "), details(run).error_info
        both_logs(bed, run, "member 0 is here", "member 1 is here")
        gone(bed, run, *self.kinds)

    def test_outputs_of_one_member_do_not_undo_the_failure_of_another(self, bed: Bed, operator, gang: Gang):
        gang.plan(1, "after 0")
        run = self.run(gang)
        assert ended(run) == "failed"
        assert "rank 1" in details(run).error_info.message, details(run).error_info


class TestPyTorchJob(Torch):
    kinds = (PYTORCHJOBS,)

    @pytest.fixture
    def operator(self, training):
        from flows import on_pytorch

        type(self).task = on_pytorch.meet
        return training


class TestTFJob(Checks):
    kinds = (TFJOBS,)

    @pytest.fixture
    def operator(self, training):
        from flows import on_tensorflow

        type(self).task = on_tensorflow.meet
        return training


class TestTrainJob(Torch):
    """Version 2 of Kubeflow's operator, with a demo of its own: it runs the same tasks as version 1. It creates JobSets."""

    kinds = (TRAINJOBS, RUNTIMES, JOBSETS)

    @pytest.fixture(scope="class")
    def bed(self, tmp_path_factory: pytest.TempPathFactory, home):
        operators.name_services()
        made = Bed(tmp_path_factory.mktemp("trainer"), "pod,trainjob")
        made.start()
        yield made
        made.server.stop()

    @pytest.fixture(scope="class")
    def running(self, bed: Bed):
        processes = [start(bed.folder, bed.cluster) for start in (operators.jobset, operators.trainer)]
        yield processes
        for process in processes:
            process.stop()

    @pytest.fixture
    def operator(self, running):
        from flows import on_pytorch

        type(self).task = on_pytorch.meet
        return running[-1]


class TestDask:
    """The runner is the task; the scheduler and the workers restart within an attempt."""

    kinds = (DASKJOBS, DASKCLUSTERS)

    @pytest.fixture(autouse=True)
    def operator(self, dask):
        from flows import on_dask

        type(self).task = on_dask.squares
        return dask

    def run(self, gang: Gang):
        return submitted(type(self).task, folder=str(gang.folder))

    def test_success(self, bed: Bed, gang: Gang):
        run = self.run(gang)
        assert succeed(bed, run)[0] == "sum 285"
        said_once(run)
        both_logs(bed, run, "the runner is here")
        gone(bed, run, *self.kinds)

    def test_an_error_of_the_task(self, bed: Bed, gang: Gang):
        gang.plan(0, "raise")
        run = self.run(gang)
        assert ended(run) == "failed"
        assert "the runner was told to fail" in details(run).error_info.message
        gone(bed, run, *self.kinds)

    def test_a_killed_worker_is_replaced_and_told(self, bed: Bed, gang: Gang):
        gang.plan(0, "hold")
        run = self.run(gang)
        gang.pid(0)
        kill_tree(int((gang.folder / "worker-0").read_text()))
        eventually(lambda: any("worker pod" in e.message and "was restarted" in e.message for e in events(run)), what="the restart is told")
        gang.go()
        assert succeed(bed, run)[0] == "sum 285"
        gone(bed, run, *self.kinds)

    def test_an_abort_leaves_nothing(self, bed: Bed, gang: Gang):
        gang.plan(0, "hold")
        run = self.run(gang)
        pids = [gang.pid(0), *(int((gang.folder / f"worker-{n}").read_text()) for n in (0, 1))]
        run.abort()
        assert ended(run) == "aborted"
        gone(bed, run, *self.kinds)
        eventually(lambda: not any(alive(pid) for pid in pids), what="the processes end")


@pytest.mark.skipif(not os.environ.get("FLYTE_OPERATORS_RAY"), reason=(
    "the nodes of a Ray cluster do not find each other where all pods have one address, as on the demo's node; FLYTE_OPERATORS_RAY=1 tries"))
class TestRay:
    """The task runs on the head of a real Ray cluster, submitted by a pod of its own."""

    kinds = (RAYJOBS, RAYCLUSTERS)

    @pytest.fixture(autouse=True)
    def operator(self, kuberay):
        from flows import on_ray

        type(self).task = on_ray.squares
        return kuberay

    def run(self, gang: Gang):
        return submitted(type(self).task, folder=str(gang.folder))

    def test_success(self, bed: Bed, gang: Gang):
        run = self.run(gang)
        assert succeed(bed, run)[0] == "sum 285 it's $HOME"
        said_once(run)
        both_logs(bed, run, "the driver is here")
        gone(bed, run, *self.kinds)

    def test_an_error_of_the_task(self, bed: Bed, gang: Gang):
        gang.plan(0, "raise")
        run = self.run(gang)
        assert ended(run) == "failed"
        assert "the driver was told to fail" in details(run).error_info.message
        gone(bed, run, *self.kinds)

    def test_a_lost_head(self, bed: Bed, gang: Gang):
        gang.plan(0, "hold")
        run = self.run(gang)
        gang.pid(0)
        head = next(p for p in bed.cluster.pods(run.name) if p.metadata.labels["flyte.org/role"] == "head")
        bed.cluster.core.delete_namespaced_pod(head.metadata.name, head.metadata.namespace, grace_period_seconds=1)
        eventually(lambda: phase_of(run) != "running" or len(details(run).pb2.attempts) > 1, what="the loss of the head is noticed")
        run.abort()
        gone(bed, run, *self.kinds)

    def test_an_abort_leaves_nothing(self, bed: Bed, gang: Gang):
        gang.plan(0, "hold")
        run = self.run(gang)
        pid = gang.pid(0)
        run.abort()
        assert ended(run) == "aborted"
        gone(bed, run, *self.kinds)
        eventually(lambda: not alive(pid), what="the process ends")
