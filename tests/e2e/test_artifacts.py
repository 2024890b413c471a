"""Artifacts through the unmodified SDK: published by people and by tasks, found again, passed to runs, and their lineage."""

from __future__ import annotations

import datetime
import json
import uuid

import flyte
import flyte.io
import flyte.remote as remote
import pytest
from flyte.remote import Artifact

from flows import artifacts
from server import eventually

pytestmark = pytest.mark.usefixtures("sdk")


@pytest.fixture
def name() -> str:
    """A name that was never used before."""
    return "model-" + uuid.uuid4().hex[:8]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "data.txt"
    path.write_text("numbers")
    return path


def run(task, **inputs):
    handle = flyte.run(task, **inputs)
    handle.wait(quiet=True)
    phase = str(remote.Run.get(handle.name).phase)
    if "succeeded" not in phase.lower():
        pytest.fail(f"run {handle.name} ended {phase}: {remote.RunDetails.get(handle.name).action_details.error_info}")
    return handle


def publish(file, name, **options) -> Artifact:
    return Artifact.create(flyte.io.File.from_local_sync(str(file)), name=name, **options)


def lineage(server, name, version) -> tuple[list[str], list[dict]]:
    """The names of the nodes, and the edges."""
    key = {"name": {"project": "flytesnacks", "domain": "development", "name": name}, "version": version}
    code, graph = server.call("flytebinary.insight.v1.ArtifactInsightService/GetLineage", {"artifactId": key})
    assert code == 200, graph
    return [node.get("run", node.get("artifact", {}).get("name"))["name"] for node in graph["nodes"]], graph.get("edges", [])


def users(server, name, version) -> dict[str, list[str]]:
    """The runs that used a version, with the tasks of the actions that did."""
    nodes, edges = lineage(server, name, version)
    return {
        nodes[edge.get("to", 0)]: sorted(action["task"] for action in edge["actions"])
        for edge in edges
        if edge["kind"] == "KIND_USED" and edge.get("from", 0) == 0
    }


def registered(name) -> Artifact:
    """What a task has published under a name."""

    def newest():
        return next(iter(Artifact.listall(name)), None)

    eventually(lambda: newest() is not None, timeout=30, what=f"artifact {name} is registered")
    return newest()


def test_published_with_the_command_line_and_found_again(name, file, cli):
    out = cli("create", "artifact", name, "--from-file", str(file), "--version", "1", "--kind", "model", "--attr", "framework=torch",
                    "--partition", "region=us", "--partition", "date=2030-05-17")
    assert f"{name}@1" in out.replace("\n", "")
    assert name in cli("get", "artifact", "--search", name)
    assert "1" in cli("get", "artifact", name)
    found = Artifact.get(name, region="us", date=datetime.date(2030, 5, 17))
    assert (found.version, found.kind, found.partitions["region"]) == ("1", "model", "us")
    assert [a.version for a in Artifact.listall(name, attrs={"framework": "torch"})] == ["1"]
    with pytest.raises(Exception, match="version 1"):
        publish(file, name, version="1")


def test_two_partitions_and_their_newest_versions(name, file):
    Artifact.declare(name, partitions={"date": datetime.date, "region": str})
    Artifact.declare(name, partitions={"date": datetime.date, "region": str})
    with pytest.raises(Exception, match="(?i)other keys|already"):
        Artifact.declare(name, partitions={"zone": str})
    day = datetime.date(2030, 5, 17)
    for version, region in (("1", "us"), ("2", "eu"), ("3", "us")):
        publish(file, name, version=version, partitions={"date": day, "region": region})
    with pytest.raises(Exception, match="partitions"):
        publish(file, name, partitions={"zone": "a"})
    assert Artifact.get(name).version == "3"
    assert Artifact.get(name, region="eu", date=day).version == "2"
    assert [a.version for a in Artifact.listall(name, latest_per_partition=True)] == ["3", "2"]
    assert Artifact.partition_values(name, "region") == ["eu", "us"]
    assert Artifact.partition_values(name, "date") == [day]


def test_an_output_of_a_task_and_an_input_of_another(name, file, server):
    raw = publish(file, name + "-raw", version="1")
    made = run(artifacts.train, name=name, words="weights", data=raw)
    run_id = {"project": "flytesnacks", "domain": "development", "name": made.name}
    code, io = server.call("flyteidl2.workflow.RunService/GetActionData", {"actionId": {"run": {"org": "o", **run_id}, "name": "a0"}})
    assert code == 200, io
    text = json.dumps(next(literal["value"] for literal in io["inputs"]["literals"] if literal["name"] == "data"))
    assert f'"name": "{name}-raw"' in text and '"artifactId"' in text

    model = registered(name)
    assert model.version == f"{made.name}-a0-1"
    assert model.pb2.spec.source.task_action.action.run.name == made.name
    assert [a.version for a in Artifact.listall(source_run=made.name)] == [model.version]
    assert model.partitions == {"region": "us"}

    used = run(artifacts.read, data=model)
    assert used.outputs()[0] == "weights of numbers"
    nodes, found = lineage(server, name, model.version)
    edges = {(nodes[edge.get("from", 0)], nodes[edge.get("to", 0)], edge["kind"]) for edge in found}
    assert {(name + "-raw", made.name, "KIND_USED"), (made.name, name, "KIND_PRODUCED"), (name, used.name, "KIND_USED")} <= edges


def test_children_that_use_an_artifact_are_in_its_lineage(name, file, server):
    """Tasks pass files on without saying which artifact they are, so they are known by their data."""
    raw = publish(file, name + "-raw", version="1")
    rehearsal = run(artifacts.rehearse, name=name, data=raw)
    assert rehearsal.outputs()[0] == "numbers, rehearsed of numbers"
    model = registered(name)

    def used(name, version, expected):
        eventually(lambda: users(server, name, version) == expected, timeout=30, what=f"{name} is known to be used: {users(server, name, version)}")

    used(name + "-raw", "1", {rehearsal.name: ["read", "rehearse", "train"]})
    # The run made this version and used it.
    used(name, model.version, {rehearsal.name: ["read"]})

    fetching = run(artifacts.fetch_and_read, name=name)
    used(name, model.version, {rehearsal.name: ["read"], fetching.name: ["read"]})
