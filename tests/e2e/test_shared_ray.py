"""Attempts that share a Ray cluster, with the real KubeRay and the real Ray."""

from __future__ import annotations

import importlib
import pathlib
import sys
import time

import flyte
import pytest

pytest.importorskip("kubernetes", reason="needs the packages of operators: make operators operators-python, then make operators-test")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "operators"))

import operators
from kubernetes.client import V1DeleteOptions

from conftest import connect
from server import alive, eventually
from test_operators import FRAMEWORKS, RAYCLUSTERS, RAYJOBS, Bed, details, ended, event_says, kept_logs, succeed

why_not = operators.missing()
pytestmark = pytest.mark.skipif(bool(why_not), reason=why_not)

ODD = "it's $HOME ${X} \"y\""


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory, home):
    made = Bed(tmp_path_factory.mktemp("shared"), FRAMEWORKS["Ray"])
    made.start()
    yield made
    made.stop()


@pytest.fixture(autouse=True)
def connected(bed: Bed):
    connect(bed.server)


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    tmp_path.chmod(0o777)
    return tmp_path


def start(task, folder: pathlib.Path):
    return flyte.with_runcontext(env_vars={"GIVEN": ODD}).run(task, folder=str(folder))


def go(folder: pathlib.Path, run) -> None:
    (folder / f"plan-{run.name}").write_text("go")


def pid(folder: pathlib.Path, run) -> int:
    file = folder / f"pid-{run.name}"
    return int(eventually(lambda: file.exists() and file.read_text(), timeout=300, what=f"the program of {run.name} is here"))


def clusters(bed: Bed) -> list[dict]:
    return [c["metadata"] for c in bed.cluster.objects(*RAYCLUSTERS)]


def test_one_after_the_other_and_at_once(bed: Bed, folder: pathlib.Path):
    from flows import shared_ray

    began = time.monotonic()
    run = start(shared_ray.first, folder)
    pid(folder, run)
    cold = time.monotonic() - began
    one = succeed(bed, run)[0]
    assert one["given"] == ODD and one["run"] == one["worker"] == run.name, one
    [cluster] = clusters(bed)
    event_says(run, f"shares the Ray cluster {cluster['name']}")
    eventually(lambda: any(f"the driver of {run.name} is here" in log for log in kept_logs(bed, run).values()), timeout=120, what="its log is kept")
    eventually(lambda: not bed.cluster.left(run.name, RAYJOBS), timeout=300, what="nothing is left of the attempt")

    began = time.monotonic()
    run = start(shared_ray.second, folder)
    pid(folder, run)
    warm = time.monotonic() - began
    two = succeed(bed, run)[0]
    print(f"\nfrom the submission to the first line of the program: {cold:.1f} s with a new cluster, {warm:.1f} s in a shared one")
    assert two["node"] == one["node"], "the same head"
    assert two["directory"] != one["directory"], "and code of its own"

    (folder / "hold").touch()
    runs = [start(task, folder) for task in (shared_ray.first, shared_ray.second)]
    pids = [pid(folder, run) for run in runs]
    runs[0].abort()
    assert ended(runs[0]) == "aborted"
    eventually(lambda: not alive(pids[0]), timeout=120, what="the program of the aborted run ends")
    assert alive(pids[1]), "the other one does not"
    go(folder, runs[1])
    assert succeed(bed, runs[1])[0]["node"] == one["node"]
    assert [c["uid"] for c in clusters(bed)] == [cluster["uid"]]

    eventually(lambda: not clusters(bed), timeout=300, what="the idle cluster ends")
    label = f"flyte.org/shared-ray-cluster={cluster['name']}"
    eventually(lambda: not bed.cluster.core.list_namespaced_pod(operators.NAMESPACE, label_selector=label).items, timeout=300, what="its pods end")


def test_a_lost_cluster(bed: Bed, folder: pathlib.Path):
    from flows import shared_ray

    (folder / "hold").touch()
    run = start(shared_ray.first, folder)
    pid(folder, run)
    [lost] = clusters(bed)
    bed.cluster.custom.delete_namespaced_custom_object(*RAYCLUSTERS[:2], operators.NAMESPACE, "rayclusters", lost["name"], body=V1DeleteOptions())
    eventually(lambda: len(details(run).pb2.attempts) == 2, timeout=300, what="the attempt is lost")
    go(folder, run)
    succeed(bed, run)
    attempts = details(run).pb2.attempts
    assert len(attempts) == 2 and attempts[0].error_info.kind == 2 and attempts[0].error_info.code == "ResourceDeletedExternally", attempts[0].error_info
    [made] = clusters(bed)
    assert made["uid"] != lost["uid"]


def test_the_example(bed: Bed, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch):
    """examples/operators/ray_shared.py with nodes that share one busy machine. Its second task is submitted from within the first, so the
    file itself is changed."""
    from flows import on_ray

    text = (operators.ROOT / "examples" / "operators" / "ray_shared.py").read_text()
    for old, new in (
        ("import RayJobConfig", "import HeadNodeConfig, RayJobConfig"),
        ("RayJobConfig(worker", f"RayJobConfig(head_node_config=HeadNodeConfig(ray_start_params={on_ray.HEAD.ray_start_params}), worker"),
        ("replicas=2)", f"replicas=2, ray_start_params={on_ray.STORE})"),
        ("plugin_config=", f"env_vars={on_ray.PATIENCE}, plugin_config="),
    ):
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "ray_shared.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    connect(bed.server, tmp_path)
    before = {c["uid"] for c in clusters(bed)}
    run = flyte.run(importlib.import_module("ray_shared").main)
    assert succeed(bed, run)[0] == 285
    assert len({c["uid"] for c in clusters(bed)} - before) == 1, "the task and both of its parts shared one cluster"
