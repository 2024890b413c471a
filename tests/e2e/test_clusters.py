"""Real Ray and real Dask as clusters of processes on one machine (docs/demo.md). `make clusters` prepares and runs this."""

import pathlib
import signal
import os
import time
import urllib.request

import flyte
import flyte.remote as remote
import pytest

from conftest import connect
from server import AS_USER, WITHOUT_NAMESPACES, Server, alive, environ, eventually, processes_naming, refused
from test_flows import phase_of, result
from test_members import details_of, log_of, names

pytest.importorskip("ray", reason="Ray and Dask are large, so `make clusters` installs them and runs these tests")
pytest.importorskip("flyteplugins.dask", reason="as above")

from flows import clusters  # noqa: E402


@pytest.fixture(scope="module")
def machine(tmp_path_factory, home):
    instance = Server(tmp_path_factory.mktemp("clusters"), "--with", "ray,dask", "--cpus", "8")
    instance.start()
    yield instance
    instance.stop()


@pytest.fixture(autouse=True)
def connected(machine):
    connect(machine)


def pod_ended(machine: Server, run: str, word: str) -> str:
    """The name of a run's pod with a word in it."""
    return eventually(lambda: next((name for name in names(machine, run) if word in name), None), what=f"the {word} is known")


def rest(data: pathlib.Path) -> list[int]:
    """The processes of containers of a demo."""
    return [pid for pid in processes_naming("ray") + processes_naming("dask") if str(data) in environ(pid)]


def computed(number: int) -> list[int]:
    return [2, 1, *(i * i for i in range(number))]


def test_ray_computes_on_two_nodes(machine: Server):
    assert result(clusters.on_ray, 6)[0] == computed(6)
    eventually(lambda: not rest(machine.data), what="the cluster ends with its task")


def test_a_task_uses_the_cluster_of_another(machine: Server, tmp_path: pathlib.Path):
    holder = flyte.run(clusters.on_ray, 2, str(tmp_path))
    eventually(lambda: len(list(tmp_path.glob("pid-*"))) == 2, what="both nodes compute")
    head = (tmp_path / "head").read_text().rsplit(":", 1)[0]
    own, ran = result(clusters.on_existing_ray.override(env_vars={"EXISTING_RAY": f"ray://{head}:10001"}))[0]
    nodes = {file.name.removeprefix("pid-") for file in tmp_path.glob("pid-*")}
    assert ran in nodes and own not in nodes, (own, ran, nodes)
    (tmp_path / "enough").touch()
    holder.wait(quiet=True)
    assert phase_of(holder) == "succeeded"


def test_a_shared_ray_cluster(machine: Server):
    """Attempts of an environment with a reuse policy run on one head, with variables of their own."""
    heads, odd = [], "it's $HOME ${X}"
    for _ in range(2):
        began = time.monotonic()
        handle = flyte.with_runcontext(env_vars={"GIVEN": odd}).run(clusters.on_reusable_ray)
        handle.wait(quiet=True)
        assert phase_of(handle) == "succeeded", machine.tail()
        head, run, given = handle.outputs()[0]
        assert (run, given) == (handle.name, odd)
        heads.append(head)
        print(f"\n{time.monotonic() - began:.1f} s")
        messages = [e["message"] for e in details_of(machine, handle.name)["clusterEvents"]]
        assert any("shares the Ray cluster ray-" in message for message in messages), messages
    assert heads[0] == heads[1]


def test_two_clusters_of_ray_run_at_the_same_time(machine: Server):
    handles = [flyte.run(clusters.on_ray, 4) for _ in range(2)]
    for handle in handles:
        handle.wait(quiet=True)
    assert [phase_of(handle) for handle in handles] == ["succeeded", "succeeded"]
    assert [handle.outputs()[0] for handle in handles] == [computed(4)] * 2


def test_dask_computes_on_two_workers(machine: Server):
    assert result(clusters.on_dask, 6)[0] == computed(6)
    eventually(lambda: not rest(machine.data), what="the cluster ends with its task")


@pytest.mark.parametrize(("task", "words"), [(clusters.ray_fails, "the driver of ray fails"), (clusters.dask_fails, "the runner of dask fails")])
def test_the_error_of_the_program_is_that_of_the_task(machine: Server, task, words: str):
    handle = flyte.run(task, 1)
    handle.wait(quiet=True)
    assert phase_of(handle) == "failed"
    assert words in remote.RunDetails.get(handle.name).action_details.error_info.message


@pytest.mark.parametrize(("task", "number"), [(clusters.on_ray, 2), (clusters.on_dask, 2)])
def test_a_worker_that_is_killed_costs_nothing(machine: Server, tmp_path: pathlib.Path, task, number: int):
    handle = flyte.run(task, number, str(tmp_path))
    files = eventually(lambda: len(found := sorted(tmp_path.glob("pid-*"))) == 2 and found, what="both workers compute")
    os.kill(int(eventually(files[-1].read_text)), signal.SIGKILL)
    (tmp_path / "enough").touch()
    handle.wait(quiet=True)
    assert phase_of(handle) == "succeeded"
    assert handle.outputs()[0][2:] == [0, 1]


def test_a_lost_head_is_named(machine: Server, tmp_path: pathlib.Path):
    handle = flyte.run(clusters.on_ray, 2, str(tmp_path))
    eventually(lambda: len(list(tmp_path.glob("pid-*"))) == 2, what="both nodes compute")
    head = next(pid for pid in processes_naming("gcs_server") if handle.name in environ(pid))  # that of another test may still end
    os.kill(head, signal.SIGKILL)
    handle.wait(quiet=True)
    assert phase_of(handle) == "failed"
    assert "head pod" in remote.RunDetails.get(handle.name).action_details.error_info.message


@pytest.mark.parametrize(("task", "name", "page"), [(clusters.on_ray, "Ray dashboard", "/api/version"), (clusters.on_dask, "Dask dashboard", "")])
def test_a_running_cluster_links_to_its_dashboard(machine: Server, tmp_path: pathlib.Path, task, name: str, page: str):
    handle = flyte.run(task, 2, str(tmp_path))
    eventually(lambda: len(list(tmp_path.glob("pid-*"))) == 2, what="both workers compute")
    [link] = [link for link in details_of(machine, handle.name)["logInfo"] if link["name"] == name]
    assert link["HideOnceFinished"]
    with urllib.request.urlopen(link["uri"] + page, timeout=60) as answer:
        assert answer.status == 200
    (tmp_path / "enough").touch()
    handle.wait(quiet=True)


@pytest.mark.parametrize("task", [clusters.on_ray, clusters.on_dask])
def test_an_abort_leaves_no_process(machine: Server, tmp_path: pathlib.Path, task):
    handle = flyte.run(task, 2, str(tmp_path))
    files = eventually(lambda: len(found := list(tmp_path.glob("pid-*"))) == 2 and found, what="both workers compute")
    pids = [int(eventually(file.read_text)) for file in files]
    handle.abort()
    eventually(lambda: not any(alive(pid) for pid in pids) and not rest(machine.data), what="all processes end")


@pytest.mark.parametrize(("task", "parts"), [(clusters.on_ray, ["head", "worker", "submitter"]), (clusters.on_dask, ["scheduler", "worker", "runner"])])
def test_the_log_of_each_member_is_read_live_and_kept(machine: Server, tmp_path: pathlib.Path, task, parts: list[str]):
    handle = flyte.run(task, 2, str(tmp_path))
    eventually(lambda: len(list(tmp_path.glob("pid-*"))) == 2, what="both workers compute")
    pods = [pod_ended(machine, handle.name, part) for part in parts]
    live = {pod: eventually(lambda: log_of(machine, handle.name, pod), what=f"the live log of {pod}") for pod in pods}  # noqa: B023
    assert "runs" in live[pods[-1]]
    (tmp_path / "enough").touch()
    handle.wait(quiet=True)
    assert phase_of(handle) == "succeeded"
    for pod in pods:
        kept = eventually(lambda: log_of(machine, handle.name, pod), what=f"the kept log of {pod}")  # noqa: B023
        assert live[pod].splitlines()[0] in kept


@pytest.mark.parametrize("task", [clusters.on_ray, clusters.on_dask])
def test_a_killed_demo_goes_on_with_its_cluster(machine: Server, tmp_path: pathlib.Path, task):
    handle = flyte.run(task, 2, str(tmp_path))
    eventually(lambda: len(list(tmp_path.glob("pid-*"))) == 2, what="both workers compute")
    machine.kill()
    machine.start()
    connect(machine)
    (tmp_path / "enough").touch()
    remote.Run.get(handle.name).wait(quiet=True)
    assert phase_of(handle) == "succeeded"


@pytest.mark.parametrize("within", [AS_USER, WITHOUT_NAMESPACES], ids=["user", "user-without-namespaces"])
def test_a_user_without_root_has_clusters(tmp_path: pathlib.Path, home, within: tuple[str, ...]):
    if why := refused(within):
        pytest.skip(f"this machine allows no user namespaces: {why}")
    instance = Server(tmp_path, "--with", "ray,dask", "--cpus", "8", within=within)
    instance.start()
    try:
        connect(instance)
        assert result(clusters.on_dask, 4)[0] == computed(4)
        assert result(clusters.on_ray, 4)[0] == computed(4)
    finally:
        instance.stop()
