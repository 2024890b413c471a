"""Kueue in front of the plugins: `make operators` builds it, and it runs here as a process next to a demo, with a queue that has room for
one action at a time. Tasks of one container are Jobs; others are objects of an operator that runs, too."""

from __future__ import annotations

import importlib
import pathlib
import sys
from collections.abc import Callable
from dataclasses import dataclass

import flyte
import flyte.remote as remote
import pytest

pytest.importorskip("kubernetes", reason="needs the packages of operators: make operators operators-python, then make operators-test")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "operators"))

import kueue
import operators

from conftest import connect
from server import Server, eventually
from test_operators import JOBSETS, PYTORCHJOBS, RAYCLUSTERS, RAYJOBS, RUNTIMES, TFJOBS, TRAINJOBS, Gang, details, ended, event_says, phase_of

why_not = operators.missing() or ("" if (operators.BUILT / "kueue").exists() else f"{operators.BUILT} has no Kueue: make operators")
pytestmark = pytest.mark.skipif(bool(why_not), reason=why_not)

@dataclass(frozen=True)
class Task:
    """The task of a kind, and what is special about it."""

    name: str  # in flows
    members: int  # that have plans
    result: str = "2 members met"
    queue: str = "cpus"  # has room for one


TASKS = {
    "Job": Task("on_kueue.meet", 1, "1 members met"), "JobSet": Task("on_jobset.meet", 2), "TFJob": Task("on_tensorflow.meet", 2),
    "PyTorchJob": Task("on_pytorch.meet", 2), "TrainJob": Task("on_pytorch.meet", 2), "RayJob": Task("on_ray.squares", 1, "sum 285 it's $HOME", "rays"),
}
# Kinds that share a demo: two plugins are for the same type of task.
OTHERS = ("TrainJob", "RayJob")
QUOTA = "LocalQueue {queue} has not admitted it: couldn't assign flavors to pod set "


@dataclass(frozen=True)
class Setup:
    """A demo's plugins and operators."""

    plugins: str
    operators: tuple[Callable[[pathlib.Path, operators.Cluster], operators.Operator], ...]
    kinds: tuple[tuple[str, str, str], ...]


SETUPS = {
    "usual": Setup("pod,job,jobset,tensorflow,pytorch", (operators.jobset, operators.training), (JOBSETS, TFJOBS, PYTORCHJOBS)),
    "others": Setup("pod,job,trainjob,ray", (operators.jobset, operators.trainer, operators.kuberay), (JOBSETS, TRAINJOBS, RUNTIMES, RAYJOBS, RAYCLUSTERS)),
}
PLUGINS = ("plugins.default=job", "plugins.job.queue=cpus", "plugins.operators.queue=cpus", "plugins.queues=plugin:ray=rays", "plugins.probe=2s")


class Bed:
    """A demo with Kueue and the operators whose objects it admits."""

    def __init__(self, folder: pathlib.Path, setup: Setup):
        self.setup = setup
        settings = (f"plugins.enabled={setup.plugins}", *PLUGINS)
        self.server = Server(folder, "--warm", "off", "--cpus", "16", *(word for s in settings for word in ("--set", f"executor.{s}")))
        self.running: list[operators.Operator] = []
        self.cluster: operators.Cluster | None = None
        self.runs: list = []

    def start(self) -> None:
        self.server.start()
        self.cluster = operators.Cluster(self.server)
        for start in (*self.setup.operators, kueue.kueue):
            self.running.append(start(self.server.folder, self.cluster))
        kueue.queue(self.cluster, "cpus", cpu="300m", memory="100Gi")
        kueue.queue(self.cluster, "rays", cpu="1", memory="100Gi")  # the pod that submits asks for half a core

    def stop(self) -> None:
        for operator in self.running:
            operator.stop()
        self.server.stop()
        if self.cluster is not None:
            self.cluster.names.stop()

    @property
    def kueue(self) -> operators.Operator:
        return self.running[-1]

    def back(self) -> None:
        """Starts Kueue again. The API server asks it to convert objects, so until it answers they cannot be listed."""
        self.kueue.start()
        eventually(lambda: kueue.answers(self.cluster), what="Kueue answers")

    def why(self, run) -> str:
        """What the action waits for."""
        who = {"run": {"project": "flytesnacks", "domain": "development", "name": run.name}, "name": "a0"}
        return self.server.call("flytebinary.insight.v1.InsightService/ExplainAction", {"actionId": who})[1].get("wait", {}).get("message", "")

    def waits(self, run, *words: str) -> str:
        """The reason why the action waits, once it has these words."""
        return eventually(lambda: all(w in self.why(run) for w in words) and self.why(run), what=f"{run.name} waits: {words}; now: {self.why(run)}")

    def gone(self, run) -> None:
        eventually(lambda: not self.cluster.left(run.name, kueue.WORKLOADS, *self.setup.kinds), timeout=300, what=f"nothing is left of {run.name}")


class Action:
    """A run whose members wait until they may go."""

    def __init__(self, bed: Bed, kind: str, folder: pathlib.Path, **labels: str):
        folder.mkdir()
        self.bed, self.gang = bed, Gang(folder)
        self.task = TASKS[kind]
        module, _, task = self.task.name.partition(".")
        for rank in range(self.task.members):
            self.gang.plan(rank, "hold")
        labels = {f"kueue.x-k8s.io/{name.replace('_', '-')}": value for name, value in labels.items()}
        self.run = flyte.with_runcontext(labels=labels).run(getattr(importlib.import_module(f"flows.{module}"), task), folder=str(folder))
        bed.runs.append(self.run)

    def holds(self) -> list[int]:
        """The processes of the members, once they wait."""
        return [self.gang.pid(rank) for rank in range(self.task.members)]

    def began(self) -> bool:
        return any(self.gang.folder.glob("member-*"))

    def succeeds(self) -> None:
        """Within one attempt: waiting for a queue is none."""
        self.gang.go()
        assert ended(self.run) == "succeeded", (details(self.run).error_info, self.bed.server.tail())
        assert self.run.outputs()[0] == self.task.result
        assert len(details(self.run).pb2.attempts) == 1
        self.bed.gone(self.run)


@pytest.fixture(scope="module", params=SETUPS)
def bed(request, tmp_path_factory: pytest.TempPathFactory, home):
    made = Bed(tmp_path_factory.mktemp("kueue"), SETUPS[request.param])
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture(autouse=True)
def connected(bed: Bed):
    """A test that fails leaves nothing in the queue."""
    connect(bed.server)
    yield
    for run in bed.runs:
        if phase_of(run) not in ("succeeded", "failed", "aborted"):
            remote.Run.get(run.name).abort()
    bed.runs.clear()


def of(*kinds: str):
    """Runs a test with these kinds, each in the demo that has its plugin."""
    return pytest.mark.parametrize(("bed", "kind"), [("others" if kind in OTHERS else "usual", kind) for kind in kinds], indirect=["bed"], scope="module")


FAST = ("Job", "JobSet", "TFJob")  # processes that load PyTorch or start Ray take minutes on a busy machine


@of(*TASKS)
def test_the_second_waits_for_the_first(bed: Bed, kind: str, tmp_path: pathlib.Path):
    first = Action(bed, kind, tmp_path / "first")
    first.holds()
    second = Action(bed, kind, tmp_path / "second")
    said = bed.waits(second.run, QUOTA.format(queue=second.task.queue), "insufficient unused quota for cpu in flavor default-flavor")
    assert f"{kind} is suspended: " in said, said
    assert phase_of(second.run) == "waiting_for_resources" and not bed.cluster.pods(second.run.name) and not second.began()
    first.succeeds()
    second.holds()
    second.succeeds()


@of(*FAST)
def test_an_abort_in_the_queue_leaves_nothing(bed: Bed, kind: str, tmp_path: pathlib.Path):
    first = Action(bed, kind, tmp_path / "first")
    first.holds()
    second = Action(bed, kind, tmp_path / "second")
    bed.waits(second.run, QUOTA.format(queue=second.task.queue))
    remote.Run.get(second.run.name).abort()
    assert ended(second.run) == "aborted"
    bed.gone(second.run)
    first.succeeds()
    assert not second.began()


@of(*FAST)
def test_kueue_is_away(bed: Bed, kind: str, tmp_path: pathlib.Path):
    """What waits keeps waiting. What is new cannot be created, since Kueue's webhook does not answer, and costs the task nothing."""
    first = Action(bed, kind, tmp_path / "first")
    first.holds()
    second = Action(bed, kind, tmp_path / "second")
    bed.waits(second.run, QUOTA.format(queue=second.task.queue))
    bed.kueue.stop()
    try:
        third = Action(bed, kind, tmp_path / "third")
        first.gang.go()
        assert ended(first.run) == "succeeded"
        bed.waits(third.run, "kb.io")
        assert not second.began() and not third.began()
    finally:
        bed.back()
    for other in (second, third):
        other.gang.go()
    for action in (first, second, third):
        action.succeeds()


@of(*FAST)
def test_the_urgent_action_goes_first(bed: Bed, kind: str, tmp_path: pathlib.Path):
    """Kueue suspends the one that runs, which starts again in the same attempt."""
    first = Action(bed, kind, tmp_path / "first")
    before = first.holds()
    second = Action(bed, kind, tmp_path / "second", priority_class="urgent")
    second.holds()
    event_says(first.run, "is suspended: LocalQueue cpus has not admitted it: Preempted to accommodate a workload")
    assert phase_of(first.run) == "running", "phases do not go back"
    second.succeeds()
    eventually(lambda: not set(before) & set(first.holds()), what="the first starts again")
    first.succeeds()


@of(*FAST)
def test_a_queue_that_does_not_exist(bed: Bed, kind: str, tmp_path: pathlib.Path):
    action = Action(bed, kind, tmp_path / "first", queue_name="nowhere")
    bed.waits(action.run, "LocalQueue nowhere has not admitted it: LocalQueue nowhere doesn't exist")
    remote.Run.get(action.run.name).abort()
    assert ended(action.run) == "aborted"
    bed.gone(action.run)


@of("Job")
def test_the_example(bed: Bed, kind: str, monkeypatch: pytest.MonkeyPatch):
    """examples/operators/queued_job.py, as its last lines submit it."""
    monkeypatch.syspath_prepend(str(operators.ROOT / "examples" / "operators"))
    example = importlib.import_module("queued_job")
    connect(bed.server, operators.ROOT / "examples" / "operators")
    run = flyte.with_runcontext(labels={"kueue.x-k8s.io/queue-name": "cpus"}).run(example.main)
    admitted = eventually(lambda: [w for w in bed.cluster.objects(*kueue.WORKLOADS) if run.name in w["metadata"]["name"]], what="Kueue knows the Job")
    assert admitted[0]["spec"]["queueName"] == "cpus"
    assert ended(run) == "succeeded", (details(run).error_info, bed.server.tail())
    assert run.outputs()[0] == "a Job"
    bed.gone(run)
