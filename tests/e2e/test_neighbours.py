"""Two clusters of one installation, each with a controller and an API server of its own: where work goes, what is seen of it, and what
happens when one of them is away."""

from __future__ import annotations

import json
import pathlib
import re
import shlex
import subprocess
import sys

import flyte
import flyte.remote as remote
import pytest
from flyte.io import File

from flows import placed
from neighbours import EASTERN, Neighbours
from outside import slim
from server import alive, eventually
from test_members import log_of

CLUSTERS = ("east", "west")

# What a new user reads. Its commands, its rule and its program are run as they are.
PAGE = (pathlib.Path(__file__).parents[2] / "docs" / "two-clusters.md").read_text()
RULE = json.loads(re.search(r"config\.runs\.placement\.rules=(\[.*?\])'", PAGE)[1])


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, home):
    neighbours = Neighbours(tmp_path_factory.mktemp("neighbours"), runs={
        "queues": [{"name": "eastern", "cluster": "east"}, {"name": "western", "cluster": "west"}],
        "placement": {
            "rules": [{"labels": [f"wants={name}"], "where": [f"side={name}"]} for name in CLUSTERS] + RULE,
            "stores": [{"prefix": f"s3://{EASTERN}/", "where": ["side=east"], "base": True}],
        },
        "clusters": {"lostAfter": "15s", "settle": "3s"},
    })
    try:
        neighbours.start()
        yield neighbours
    finally:
        neighbours.stop()


def succeeded(handle):
    """Waits for a run that must succeed; returns its output."""
    handle.wait(quiet=True)
    assert "succeeded" in str(remote.Run.get(handle.name).phase).lower(), remote.RunDetails.get(handle.name).action_details.error_info
    return handle.outputs()[0]


def clusters_command(both: Neighbours, *words: str) -> None:
    done = slim("clusters", *words, "--config", str(both.api.config))
    assert done.returncode == 0, done.stdout


def notes(folder: pathlib.Path, name: str = "begun") -> list[list[str]]:
    """What tasks noted: cluster and process of each."""
    path = folder / name
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


def selected(both: Neighbours, run: str) -> str:
    status, answer = both.api.call("flyteidl2.cluster.ClusterService/SelectCluster", {
        "actionId": both.action(run, "a0"), "operation": "OPERATION_TAIL_LOGS"})
    assert status == 200, answer
    return answer.get("cluster", "")


@pytest.mark.parametrize("name", CLUSTERS)
def test_a_queue_chooses(both: Neighbours, name: str):
    handle = flyte.with_runcontext(queue=f"{name}ern").run(placed.where)
    assert succeeded(handle) == name
    assert selected(both, handle.name) == name
    assert both.attempts(handle.name) == [name]
    placement = both.explain(handle.name)["placement"]
    assert placement["cluster"] == name and f"{name}ern" in placement["reason"], placement


@pytest.mark.parametrize("name", CLUSTERS)
def test_labels_choose_and_children_follow(both: Neighbours, name: str):
    handle = flyte.with_runcontext(labels={"wants": name}).run(placed.family, 3)
    assert succeeded(handle) == [name] * 4
    children = [action.name for action in remote.Action.listall(for_run_name=handle.name) if action.name != "a0"]
    assert len(children) == 3 and all(both.attempts(handle.name, child) == [name] for child in children)
    assert f"side={name}" in both.explain(handle.name)["placement"]["reason"]


def test_a_pool_chooses(both: Neighbours):
    clusters_command(both, "set", "west", "--pools", "gpu")
    first = flyte.with_runcontext(queue="eastern").run(placed.where)
    succeeded(first)
    spec = both.details(first.name)["task"]
    status, answer = both.api.call("flyteidl2.workflow.RunService/CreateRun", {
        "projectId": {"organization": "local", "name": "flytesnacks", "domain": "development"}, "taskSpec": spec, "inputs": {},
        "runSpec": {"clusterPool": "gpu"}})
    assert status == 200, answer
    name = answer["run"]["action"]["id"]["run"]["name"]
    handle = remote.Run.get(name)
    assert succeeded(handle) == "west"
    assert "pool gpu" in both.explain(name)["placement"]["reason"]


@pytest.mark.parametrize("name", CLUSTERS)
def test_logs_are_read_live_and_kept(both: Neighbours, name: str, tmp_path: pathlib.Path):
    handle = flyte.with_runcontext(queue=f"{name}ern").run(placed.waits, str(tmp_path))
    eventually(lambda: notes(tmp_path), what="the task begins")
    pod = eventually(lambda: both.pods(name, handle.name), what="its pod")[0]
    eventually(lambda: f"waiting on {name}" in log_of(both.api, handle.name, pod), what="the live log")
    (tmp_path / "go").touch()
    assert succeeded(handle) == name
    eventually(lambda: f"going on {name}" in log_of(both.api, handle.name, pod), what="the kept log")


@pytest.mark.parametrize("name", CLUSTERS)
def test_an_abort_ends_the_process(both: Neighbours, name: str, tmp_path: pathlib.Path):
    handle = flyte.with_runcontext(queue=f"{name}ern").run(placed.waits, str(tmp_path))
    pid = int(eventually(lambda: notes(tmp_path), what="the task begins")[0][1])
    handle.abort()
    eventually(lambda: not alive(pid) and not both.pods(name, handle.name), what="the process ends")


def started_in_east(both: Neighbours, folder: pathlib.Path):
    """A run that waits in east, though west could run it, too."""
    clusters_command(both, "cordon", "west")
    folder.mkdir()
    handle = flyte.run(placed.waits, str(folder))
    found = eventually(lambda: notes(folder), what="the task begins")
    assert found[0][0] == "east"
    return handle, int(found[0][1])


def test_a_killed_controller_loses_its_work_once(both: Neighbours, tmp_path: pathlib.Path):
    running, pid = started_in_east(both, tmp_path / "running")
    both.controllers["east"].kill()
    waiting = flyte.run(placed.where)  # admitted to east, which is not known to be away
    eventually(lambda: both.explain(waiting.name).get("placement", {}).get("cluster") == "east", what="a place for the one that waits")
    clusters_command(both, "uncordon", "west")
    bound = flyte.with_runcontext(queue="eastern").run(placed.ended, pid)
    assert succeeded(waiting) == "west"
    assert both.attempts(waiting.name) == ["east", "west"]
    assert both.error(waiting.name, 1)["code"] == "ClusterLost"
    eventually(lambda: len(notes(tmp_path / "running")) > 1, what="the running one runs again")
    (tmp_path / "running" / "go-west").touch()
    assert succeeded(running) == "west"
    assert both.attempts(running.name) == ["east", "west"]
    assert alive(pid), "no one has ended the old process yet"
    both.controllers["east"].start()
    assert succeeded(bound) is True, "the old process runs while the cluster has new work"
    assert not both.pods("east", running.name)
    assert [line[0] for line in notes(tmp_path / "running")] == ["east", "west"]


def test_a_late_report_is_refused(both: Neighbours, tmp_path: pathlib.Path):
    both.wait_for("east", "CLUSTER_HEALTH_CONNECTED")
    running, pid = started_in_east(both, tmp_path / "late")
    clusters_command(both, "uncordon", "west")
    both.relays["east"].cut()
    eventually(lambda: len(notes(tmp_path / "late")) > 1, what="it runs again")
    (tmp_path / "late" / "go-east").touch()
    eventually(lambda: not alive(pid), what="the old one ends")
    both.relays["east"].join()
    both.wait_for("east", "CLUSTER_HEALTH_CONNECTED")
    eventually(lambda: not both.pods("east", running.name), what="the old pod is gone")
    assert "running" in str(remote.Run.get(running.name).phase).lower()
    (tmp_path / "late" / "go-west").touch()
    assert succeeded(running) == "west"
    assert both.attempts(running.name) == ["east", "west"]
    assert both.error(running.name, 1)["code"] == "ClusterLost"
    assert [line[0] for line in notes(tmp_path / "late", "ended")] == ["east", "west"]


def eastern(both: Neighbours, name: str, words: str) -> File:
    """A file in the bucket that only east is configured with."""
    path = both.east.buckets / EASTERN / "given" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(words)
    return File(path=f"s3://{EASTERN}/given/{name}")


def waits_for_data(both: Neighbours, run: str, *words: str) -> None:
    eventually(lambda: both.explain(run).get("wait", {}).get("cause") == "WAIT_CAUSE_PLACEMENT", what=f"{run} waits for a cluster")
    message = both.explain(run)["wait"]["message"]
    assert all(one in message for one in words), message


def test_a_run_goes_to_the_cluster_that_reaches_its_inputs(both: Neighbours):
    both.wait_for("east", "CLUSTER_HEALTH_CONNECTED")
    assert both.listed("east")["stores"] == [f"s3://{EASTERN}"] and "stores" not in both.listed("west")
    given = eastern(both, "one", "words of the east")
    handles = [flyte.run(placed.reads, given) for _ in range(3)]
    for handle in handles:
        assert succeeded(handle) == ["east", "words of the east"]
        assert f"its data is in s3://{EASTERN}" in both.explain(handle.name)["placement"]["reason"]
    far = flyte.with_runcontext(queue="western").run(placed.reads, given)
    waits_for_data(both, far.name, f"cluster west cannot reach s3://{EASTERN}")
    far.abort()


def test_a_run_of_one_cluster_has_its_data_there(both: Neighbours):
    handle = flyte.with_runcontext(queue="eastern").run(placed.family, 2)
    assert succeeded(handle) == ["east"] * 3
    written = [path for path in (both.east.buckets / EASTERN / "flytesnacks").rglob("outputs.pb") if handle.name in str(path)]
    assert len(written) == 3, "of the run and its children"


def test_a_run_waits_for_the_only_cluster_that_reaches_its_data(both: Neighbours):
    both.relays["east"].cut()
    both.wait_for("east", "CLUSTER_HEALTH_AWAY")
    handle = flyte.run(placed.reads, eastern(both, "two", "still there"))
    waits_for_data(both, handle.name, "east is away", f"west cannot reach s3://{EASTERN}")
    assert succeeded(flyte.run(placed.where)) == "west", "other work goes on"
    waits_for_data(both, handle.name, "east is away")
    both.relays["east"].join()
    assert succeeded(handle) == ["east", "still there"]
    assert both.attempts(handle.name) == ["east"]


def test_doctor_tries_each_store(both: Neighbours, tmp_path: pathlib.Path):
    config = both.controllers["east"].config
    assert f"storage s3://{EASTERN}" in slim("doctor", "--config", str(config)).stdout
    wrong = slim("doctor", "--config", str(config), "--set", "storage.extraPrefixes=s3://nowhere")
    assert wrong.returncode == 3 and "storage s3://nowhere" in wrong.stdout and "there is no such bucket" in wrong.stdout, wrong.stdout


def test_the_page_works_as_it_is_written(both: Neighbours, tmp_path: pathlib.Path):
    """The program of the page runs in the cluster that its rule names, and each command of flyte-binary in it works, in its order."""
    (tmp_path / "page.py").write_text(re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1])
    (tmp_path / "config.yaml").write_text(
        f"admin: {{endpoint: 'dns:///{both.api.endpoint}', insecure: true}}\ntask: {{project: flytesnacks, domain: development}}\n")
    done = subprocess.run([sys.executable, "page.py"], cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
    assert done.returncode == 0, done.stdout
    run = re.search(r"/runs/(\w+)", done.stdout)[1]
    assert both.attempts(run) == ["east"]
    assert "where=east" in str(both.explain(run)["placement"]["reason"]) or "rule" in both.explain(run)["placement"]["reason"]

    commands = [words for words in (shlex.split(line) for line in re.findall(r"flyte-binary (clusters (?:list|set|drain) .*)", PAGE.replace("\\\n", ""))
                                    if "--config" in line)]
    assert [words[1] for words in commands] == ["list", "set", "drain"]
    said = {}
    try:
        for words in commands:
            words[words.index("--config") + 1] = str(both.api.config)
            done = slim(*words)
            assert done.returncode == 0, done.stdout
            said[words[1]] = done.stdout
    finally:
        clusters_command(both, "uncordon", "east")
        clusters_command(both, "set", "east", "--weight", "1")
    assert "east" in said["list"] and "version" in said["list"] and "free:" in said["list"], said["list"]
    assert "draining" in said["drain"]
