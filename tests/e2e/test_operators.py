"""The plugins of operators with the operators themselves: `make operators` builds them, and they run here as processes next to a demo,
whose API server and node run what they create. The tasks are submitted with the released plugins of the SDK."""

from __future__ import annotations

import contextlib
import importlib
import os
import pathlib
import re
import shutil
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass

import flyte
import flyte.remote as remote
import pytest
from flyteidl2.workflow.run_definition_pb2 import ClusterEvent

# The module below needs packages that only `make operators-python` installs.
pytest.importorskip("kubernetes", reason="needs the packages of operators: make operators operators-python, then make operators-test")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "operators"))

import operators
import recovery

from conftest import connect
from server import Server, alive, eventually

why_not = operators.missing()
pytestmark = pytest.mark.skipif(bool(why_not), reason=why_not)

JOBSETS = ("jobset.x-k8s.io", "v1alpha2", "jobsets")
MPIJOBS = ("kubeflow.org", "v1", "mpijobs")
TFJOBS = ("kubeflow.org", "v1", "tfjobs")
TRAINJOBS = ("trainer.kubeflow.org", "v1alpha1", "trainjobs")
RUNTIMES = ("trainer.kubeflow.org", "v1alpha1", "trainingruntimes")
RAYJOBS = ("ray.io", "v1", "rayjobs")
RAYCLUSTERS = ("ray.io", "v1", "rayclusters")
DASKJOBS = ("kubernetes.dask.org", "v1", "daskjobs")
DASKCLUSTERS = ("kubernetes.dask.org", "v1", "daskclusters")
SPARKAPPLICATIONS = ("sparkoperator.k8s.io", "v1beta2", "sparkapplications")
PYTORCHJOBS = ("kubeflow.org", "v1", "pytorchjobs")


@dataclass(frozen=True)
class Framework:
    """Tasks on several pods that follow plans, see flows.gang, and what is special about them."""

    task: str  # in flows
    plugins: str
    operators: tuple[Callable[[pathlib.Path, operators.Cluster], operators.Operator], ...]  # the last is the plugin's
    kinds: tuple[tuple[str, str, str], ...]  # the first is the plugin's
    failing: dict[int, str]  # the plans with which a program fails
    error: str  # what the error begins with
    result: str = "2 members met"
    logs: tuple[str, ...] = ("member 0 returns", "member 1 is here")
    holding: tuple[int, ...] = (0, 1)  # the members that have plans
    victim: str = "member-1"  # the file with the process of a worker
    killed: str = r"(\S+ )?pod \S+-1"  # what the error begins with when a worker is killed
    replaced: bool = False  # whether the cluster gets another worker instead
    replaced_says: str = ""  # and what an event says then
    usual: tuple[str, ...] = ()  # the reasons of warnings about a normal start
    role: str = ""  # of the pods that end with the task, if not all do


EXIT = {0: "hold", 1: "exit"}
FRAMEWORKS = {
    "JobSet": Framework("on_jobset.meet", "jobset", (operators.jobset,), (JOBSETS,), EXIT, r"(\S+ )?pod \S+-1"),
    # The launchers of all members notice the end of one, and the error names the rank.
    "PyTorchJob": Framework("on_pytorch.meet", "pytorch", (operators.training,), (PYTORCHJOBS,), EXIT, "worker pod "),
    "TFJob": Framework("on_tensorflow.meet", "tensorflow", (operators.training,), (TFJOBS,), EXIT, r"(\S+ )?pod \S+-1"),
    "MPIJob": Framework(
        "on_mpi.meet", "mpi", (operators.training,), (MPIJOBS,), {0: "hold", 1: "exit"}, "(launcher pod .*)?.*members of the launcher ended with .*3",
        logs=("the launcher is here",), victim="member-1", role="launcher",
        killed="(worker pod .*ended with exit code 137|.*members of the launcher ended with .*(137|-9))",
        # The init container that copies kubectl; the operator does not see at once that it has created the launcher.
        usual=("ImageNotMapped", "MPIJobFailed")),
    "TrainJob": Framework(
        "on_pytorch.meet", "trainjob", (operators.jobset, operators.trainer), (TRAINJOBS, RUNTIMES, JOBSETS), EXIT, "worker pod "),
    "Dask": Framework(
        "on_dask.squares", "dask", (operators.dask,), (DASKJOBS, DASKCLUSTERS), {0: "raise"}, ".*the runner was told to fail",
        result="sum 285", logs=("the runner is here",), holding=(0,), victim="worker-0", replaced=True, replaced_says="worker pod .* was restarted", role="runner"),
    "Ray": Framework(
        "on_ray.squares", "ray", (operators.kuberay,), (RAYJOBS, RAYCLUSTERS), {0: "raise"}, ".*the driver was told to fail",
        result="sum 285 it's $HOME", logs=("the driver is here",), holding=(0,), victim="worker-0", replaced=True, replaced_says="Deleted worker Pod", role="submitter",
        usual=("FailedToCreateService",)),  # KubeRay reads its own service late and makes it again
    "Spark": Framework(
        "on_spark.squares", "spark", (operators.spark,), (SPARKAPPLICATIONS,), {0: "raise"}, ".*the driver was told to fail",
        result="sum 285", logs=("the driver is here", "an executor is here"), holding=(0,), victim="worker-0", replaced=True, role="driver",
        usual=("CreateContainerConfigError", "FailedMount")),  # Spark creates the driver before its configuration
}


class Bed:
    """A demo with the plugin of a framework, and its operators."""

    def __init__(self, folder: pathlib.Path, framework: Framework):
        self.framework = framework
        self.server = Server(folder, "--warm", "off", "--cpus", "16", "--set",
                             f"executor.plugins.enabled=pod,{framework.plugins}", "--set", "executor.plugins.probe=2s")
        self.running: list[operators.Operator] = []
        self.cluster: operators.Cluster | None = None

    def start(self) -> None:
        self.server.start()
        self.cluster = operators.Cluster(self.server)
        for start in self.framework.operators:
            self.running.append(start(self.server.folder, self.cluster))

    def stop(self) -> None:
        for operator in self.running:
            operator.stop()
        self.server.stop()
        if self.cluster is not None:
            self.cluster.names.stop()

    @property
    def operator(self) -> operators.Operator:
        return self.running[-1]

    def run(self, gang: Gang, name: str = "", **changes):
        """Submits the task. It waits until the executor has seen the operator's kind."""
        module, _, name = (name or self.framework.task).partition(".")
        task = getattr(importlib.import_module(f"flows.{module}"), name)
        return flyte.run(task.override(**changes) if changes else task, folder=str(gang.folder))


@pytest.fixture(scope="module")
def bed(request, tmp_path_factory: pytest.TempPathFactory, home):
    if request.param == "Spark" and not shutil.which("java"):
        pytest.skip("Spark needs Java 17, such as the package default-jre-headless")
    made = Bed(tmp_path_factory.mktemp("operators"), FRAMEWORKS[request.param])
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture(autouse=True)
def connected(bed: Bed):
    connect(bed.server)


def of(*names: str):
    """Runs a test with these frameworks, or with all."""
    return pytest.mark.parametrize("bed", names or list(FRAMEWORKS), indirect=True, scope="module")


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

    def hold(self, bed: Bed) -> None:
        """Lets the members wait for go."""
        for rank in bed.framework.holding:
            self.plan(rank, "hold")

    def held(self, bed: Bed) -> list[int]:
        """The processes of the members, once they wait."""
        return [self.pid(rank) for rank in bed.framework.holding]

    def go(self) -> None:
        (self.folder / "go").write_text("")


@pytest.fixture
def gang(tmp_path: pathlib.Path) -> Gang:
    return Gang(tmp_path)


def phase_of(run) -> str:
    return str(remote.Run.get(run.name).phase).rsplit(".", 1)[-1].lower()


def details(run):
    return remote.RunDetails.get(run.name).action_details


def ended(run) -> str:
    return eventually(lambda: (p := phase_of(run)) in ("succeeded", "failed", "aborted", "timed_out") and p, what="the run ends")


def events(run) -> list:
    return [e for a in details(run).pb2.attempts for e in a.cluster_events]


def event_says(run, pattern: str) -> None:
    if pattern:
        eventually(lambda: any(re.search(pattern, e.message) for e in events(run)), what=f"an event says {pattern}")


def kept_logs(bed: Bed, run) -> dict[str, str]:
    """The kept logs of a run, by their paths in the directory of logs."""
    return {str(f).split("/_logs/", 1)[1]: f.read_text(errors="replace")
            for f in (bed.server.data / "blobs").rglob("*.log") if "/_logs/" in str(f) and run.name in str(f)}


def succeed(bed: Bed, run):
    assert ended(run) == "succeeded", (details(run).error_info, bed.server.tail())
    return run.outputs()


def said_once(bed: Bed, run, warnings: bool = False) -> None:
    """Nothing is repeated, and a normal start warns of nothing."""
    lines = [e.message for e in events(run)]
    repeated = [(a, b) for i, a in enumerate(lines) for j, b in enumerate(lines) if i != j and a and a in b]
    assert not repeated, repeated
    # The node says that it is a machine's; on a busy one an operator or the scheduler may be slow ("Pending": no word of the scheduler
    # for a second), and its kind seen only a moment ago.
    usual = ("LocalCluster", "OperatorSilent", "Pending", "OperatorMissing", *bed.framework.usual)
    unusual = [e for e in events(run) if e.type == ClusterEvent.TYPE_WARNING and e.reason not in usual]
    assert warnings or not unusual, unusual


def both_logs(bed: Bed, run, *texts: str) -> None:
    """The logs of all members are kept: that of the first at the attempt's own path."""
    def found():
        logs = kept_logs(bed, run)
        return any("/" not in path for path in logs) and all(any(text in log for log in logs.values()) for text in texts)
    eventually(found, timeout=120, what=f"the logs {texts} are kept")


def failed(run, begins: str) -> None:
    assert ended(run) == "failed"
    error = details(run).error_info
    assert re.match(begins, error.message, re.DOTALL), error


def gone(bed: Bed, run) -> None:
    eventually(lambda: not bed.cluster.left(run.name, *bed.framework.kinds), timeout=300, what=f"nothing is left of {run.name}")


def kill_tree(pid: int) -> None:
    """Kills the process of a member with the one that a launcher would report its end to."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(os.getpgid(pid), signal.SIGKILL)


@of()
def test_success(bed: Bed, gang: Gang):
    run = bed.run(gang)
    assert succeed(bed, run)[0] == bed.framework.result
    said_once(bed, run)
    both_logs(bed, run, *bed.framework.logs)
    gone(bed, run)


@of()
def test_a_failure_of_the_program(bed: Bed, gang: Gang):
    for rank, plan in bed.framework.failing.items():
        gang.plan(rank, plan)
    run = bed.run(gang)
    failed(run, bed.framework.error)
    assert details(run).error_info.kind == 1, "the user's"
    said_once(bed, run, warnings=True)
    both_logs(bed, run, *(f"member {rank} is here" for rank in bed.framework.failing if len(bed.framework.holding) > 1))
    gone(bed, run)


@of("TFJob")
def test_each_member_has_its_own_error(bed: Bed, gang: Gang):
    gang.plan(0, "hold")
    gang.plan(1, "raise")
    run = bed.run(gang, "on_tensorflow.meet_the_chief")
    failed(run, r"worker pod \S+: .*member 1 was told to fail")
    assert details(run).error_info.code == "ValueError", "from the document of the worker"
    gone(bed, run)


@of("JobSet", "PyTorchJob", "TFJob", "TrainJob")
def test_outputs_of_one_member_do_not_undo_the_failure_of_another(bed: Bed, gang: Gang):
    gang.plan(1, "after 0")
    failed(bed.run(gang), bed.framework.error)


@of()
def test_a_killed_worker(bed: Bed, gang: Gang):
    gang.hold(bed)
    run = bed.run(gang)
    gang.held(bed)
    kill_tree(int((gang.folder / bed.framework.victim).read_text()))
    if bed.framework.replaced:
        event_says(run, bed.framework.replaced_says)
        gang.go()
        assert succeed(bed, run)[0] == bed.framework.result
    else:
        failed(run, bed.framework.killed)
    gone(bed, run)


@of("PyTorchJob", "TFJob")
def test_an_evicted_worker_costs_the_task_nothing(bed: Bed, gang: Gang):
    """The task has no retries. The operator calls its job failed as soon as the deletion begins, and the other members fail after it."""
    gang.hold(bed)
    run = bed.run(gang)
    gang.held(bed)
    pod = next(p for p in bed.cluster.pods(run.name) if p.metadata.labels["training.kubeflow.org/replica-index"] == "1")
    bed.cluster.evict(pod)
    attempts = eventually(lambda: len(a := details(run).pb2.attempts) == 2 and a, what="another attempt begins")
    lost = attempts[0].error_info
    assert lost.kind == 2 and lost.code in ("Evicted", "UnexpectedObjectDeletion", "ResourceDeletedExternally"), lost
    gang.go()
    assert succeed(bed, run)[0] == bed.framework.result
    gone(bed, run)


HEADS = {"Ray": "head", "MPIJob": "launcher", "Dask": "runner"}


@of(*HEADS)
def test_a_lost_head(bed: Bed, gang: Gang, request):
    """KubeRay starts another head, and submits the program to it again. Otherwise the next attempt has one: the task did not lose it. The
    pod goes at once, as it does when its node is lost."""
    gang.hold(bed)
    run = bed.run(gang)
    first = gang.held(bed)
    role = HEADS[request.node.callspec.params["bed"]]
    head = next(p for p in bed.cluster.pods(run.name) if p.metadata.labels["flyte.org/role"] == role)
    bed.cluster.core.delete_namespaced_pod(head.metadata.name, head.metadata.namespace, grace_period_seconds=0)
    eventually(lambda: gang.held(bed) != first, timeout=300, what="the program starts again")
    gang.go()
    assert succeed(bed, run)[0] == bed.framework.result
    lost = [a.error_info for a in details(run).pb2.attempts[:-1]]
    assert all(e.kind == 2 for e in lost), lost
    gone(bed, run)


@of("Spark")
def test_a_lost_driver(bed: Bed, gang: Gang):
    """The operator gives up, and the next attempt has another driver: the task did not lose it."""
    gang.hold(bed)
    run = bed.run(gang)
    gang.held(bed)
    driver = next(p for p in bed.cluster.pods(run.name) if p.metadata.labels["flyte.org/role"] == "driver")
    bed.cluster.core.delete_namespaced_pod(driver.metadata.name, driver.metadata.namespace, grace_period_seconds=1)

    def lost() -> bool:
        ends = [a.error_info for a in details(run).pb2.attempts]
        return any(e.code == "ResourceDeletedExternally" and "has failed without its main pod" in e.message for e in ends)

    eventually(lost, timeout=300, what="the attempt is lost with its driver")
    gang.go()
    assert succeed(bed, run)[0] == bed.framework.result
    gone(bed, run)


@of()
def test_an_abort_leaves_nothing(bed: Bed, gang: Gang):
    gang.hold(bed)
    run = bed.run(gang)
    pids = gang.held(bed) + [int(file.read_text()) for file in gang.folder.glob("worker-*")]
    run.abort()
    assert ended(run) == "aborted"
    gone(bed, run)
    eventually(lambda: not any(alive(pid) for pid in pids), what="the processes end")


@of()
def test_a_time_limit_leaves_nothing(bed: Bed, gang: Gang):
    """The time counts from when all pods run."""
    gang.hold(bed)
    run = bed.run(gang, timeout=flyte.Timeout(max_runtime=5))
    assert ended(run) == "timed_out"
    gone(bed, run)
    pids = [int(text) for pattern in ("member-*", "worker-*") for file in gang.folder.glob(pattern) if (text := file.read_text())]
    eventually(lambda: not any(alive(pid) for pid in pids), what="the processes end")


@of()
def test_the_operator_is_away_when_the_task_ends(bed: Bed, gang: Gang):
    gang.hold(bed)
    run = bed.run(gang)
    gang.held(bed)
    bed.operator.stop()
    gang.go()

    def pods_ended() -> bool:
        pods = [p for p in bed.cluster.pods(run.name) if bed.framework.role in ("", p.metadata.labels.get("flyte.org/role"))]
        phases = {p.status.phase for p in pods}
        return "Succeeded" in phases and phases <= {"Succeeded", "Failed"}  # a Job may have submitted twice: the head was slow to start

    try:
        eventually(pods_ended, what="the pods end")
        assert phase_of(run) == "running", "the operator decides"
    finally:
        bed.operator.start()
    assert succeed(bed, run)[0] == bed.framework.result
    gone(bed, run)


@of()
def test_the_definition_is_deleted_and_comes_back(bed: Bed, gang: Gang):
    group, _, plural = bed.framework.kinds[0]
    gang.hold(bed)
    run = bed.run(gang)
    gang.held(bed)
    bed.cluster.definitions.delete_custom_resource_definition(f"{plural}.{group}")
    eventually(lambda: len(details(run).pb2.attempts) == 2, what="the first attempt is lost")
    lost = details(run).pb2.attempts[0].error_info  # the object may go before its kind
    assert lost.code in ("OperatorMissing", "ResourceDeletedExternally"), lost
    event_says(run, "install (the )?")
    bed.cluster.define(f"{group}_{plural}.yaml")
    bed.operator.stop()
    bed.operator.start()
    gang.go()
    assert succeed(bed, run)[0] == bed.framework.result
    gone(bed, run)


@of("JobSet", "PyTorchJob")
def test_recovery_runs_only_the_gang_that_failed(bed: Bed, tmp_path: pathlib.Path):
    both = importlib.import_module(f"flows.{bed.framework.task.partition('.')[0]}").both
    for name in recovery.check(both, tmp_path, recovery.by_sdk):
        eventually(lambda name=name: not bed.cluster.left(name, *bed.framework.kinds), timeout=300, what=f"nothing is left of {name}")


EXAMPLES = {
    "JobSet": ("clustered_task", "rank 0 of 2"), "PyTorchJob": ("pytorch_gang", 3.0), "TrainJob": ("pytorch_gang", 3.0),
    "Dask": ("dask_cluster", 285),
    "Ray": ("ray_cluster", 285), "Spark": ("spark_job", 285), "TFJob": ("tensorflow_gang", "worker 0 of 2"), "MPIJob": ("mpi_gang", "2 hosts"),
}


@of(*EXAMPLES)
def test_the_example(bed: Bed, request, monkeypatch: pytest.MonkeyPatch):
    """examples/operators as it is, but for what one machine needs."""
    name, result = EXAMPLES[request.node.callspec.params["bed"]]
    monkeypatch.syspath_prepend(str(operators.ROOT / "examples" / "operators"))
    example = importlib.import_module(name)
    adapted = {"ray_cluster": "on_ray", "spark_job": "on_spark"}.get(name)
    task = importlib.import_module(f"flows.{adapted}").on_one_machine(example.main) if adapted else example.main
    connect(bed.server, operators.ROOT / "examples" / "operators")
    run = flyte.run(task)
    assert succeed(bed, run)[0] == result
    gone(bed, run)


@of("JobSet")
def test_a_restart_is_told(bed: Bed, gang: Gang):
    gang.plan(1, "exit")
    run = bed.run(gang, "on_jobset.meet_again")
    event_says(run, "restart 1")
    ended(run)
