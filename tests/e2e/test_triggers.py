"""Triggers through the released SDK and command line, with a server that dies between two slots."""

import datetime
import json
import pathlib
import re
import time
import uuid

import flyte
import flyte.io  # so that the SDK can read outputs of tasks with files
import flyte.remote as remote
import pytest

from conftest import command_line
from server import Server, eventually

TASK = "scheduled.main"


def slots(server: Server, name: str, task: str = TASK) -> list[dict]:
    status, answer = server.call("flytebinary.insight.v1.TriggerInsightService/ListSlots", {
        "name": {"project": "flytesnacks", "domain": "development", "name": name, "taskName": task},
    })
    assert status == 200, answer
    return answer.get("slots", [])


def output(name: str) -> str:
    run = remote.Run.get(name)
    run.wait(quiet=True)
    return run.outputs()[0]


def test_triggers(fragile: Server, warm_command, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch):
    cli = command_line(fragile, tmp_path, warm=warm_command)

    # A wrong schedule is refused with words, and nothing is stored.
    cli("deploy", "--version", uuid.uuid4().hex[:10], "flows/scheduled.py", "env")
    refused = cli("create", "trigger", TASK, "broken", "--schedule", "0 0 30 2 *", "--trigger-time-var", "at", check=False)
    assert "never fires" in refused, refused

    first = datetime.datetime.now(datetime.UTC).replace(microsecond=0) + datetime.timedelta(seconds=25)
    monkeypatch.setenv("E2E_FIRST_SLOT", first.isoformat())
    monkeypatch.setenv("E2E_WITH_TRIGGERS", "1")
    version = uuid.uuid4().hex[:10]
    cli("deploy", "--version", version, "flows/scheduled.py", "env")
    listed = cli("get", "trigger", TASK)
    for word in ("rate", "yearly", "manual", "Europe/Berlin", "1440"):
        assert word in listed, listed
    assert "broken" not in listed

    # The slot comes while the server is down.
    fragile.kill()
    time.sleep(max(0, (first - datetime.datetime.now(datetime.UTC)).total_seconds()))
    fragile.start()
    fired = eventually(lambda: [s for s in slots(fragile, "rate") if s["state"] == "SLOT_STATE_STARTED"], what="the slot")
    assert output(fired[0]["runId"]["name"]) == f"{first.isoformat()} 7 the trigger"
    details = remote.RunDetails.get(fired[0]["runId"]["name"])
    assert details.action_details.pb2.metadata.trigger_name == "rate"

    # Whoever repairs the run of a slot gets the time of the slot.
    again = flyte.rerun(fired[0]["runId"]["name"])
    assert output(again.name) == f"{first.isoformat()} 7 the trigger"
    assert output(flyte.rerun(again.name, x=8).name) == f"{first.isoformat()} 8 the trigger"

    # After another restart, it does not fire again. A user's pause survives a deployment.
    cli("update", "trigger", "rate", TASK, "--deactivate")
    fragile.kill()
    fragile.start()
    cli("deploy", "--version", version, "flows/scheduled.py", "env")
    assert not remote.Trigger.get(name="rate", task_name=TASK).is_active
    assert len(slots(fragile, "rate")) == 1

    # By hand, with some inputs kept and one changed: the SDK reads the trigger's inputs as a file.
    by_hand = flyte.run(remote.Trigger.get(name="manual", task_name=TASK), x=44)
    assert output(by_hand.name) == f"{first.isoformat()} 44 "

    cli("create", "trigger", TASK, "mine", "--schedule", "*/5 * * * *", "--trigger-time-var", "at")
    cli("delete", "trigger", "yearly", TASK)
    left = cli("get", "trigger", TASK)
    assert "mine" in left and "yearly" not in left

    # Triggers that the code has no more are gone; those of the command line stay.
    monkeypatch.delenv("E2E_WITH_TRIGGERS")
    cli("deploy", "--version", uuid.uuid4().hex[:10], "flows/scheduled.py", "env")
    names = set(re.findall(r"""['"]name['"]:\s*['"](\w+)['"]""", cli("get", "trigger", TASK)))
    assert "mine" in names and not names & {"rate", "manual", "yearly"}, names
    cli("delete", "trigger", "mine", TASK)  # other tests use the server after this one
    assert json.dumps(slots(fragile, "rate")).count("SLOT_STATE_STARTED") == 1


def test_a_recovered_run_has_the_time_of_its_source(fragile: Server, warm_command, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch):
    cli = command_line(fragile, tmp_path, warm=warm_command)
    monkeypatch.setenv("E2E_WITH_TRIGGERS", "1")
    cli("deploy", "--version", uuid.uuid4().hex[:10], "flows/scheduled.py", "env")
    source = flyte.run(remote.Trigger.get(name="breaking", task_name="scheduled.breaks"), folder=str(tmp_path))
    source.wait(quiet=True)
    parts = {a.name: a for a in remote.Action.listall(for_run_name=source.name) if a.name != "a0"}
    assert len(parts) == 1, parts
    (tmp_path / "ready").touch()
    recovered = flyte.rerun(source.name, recover=True)
    recovered.wait(quiet=True)
    again = {a.name: str(a.phase).lower() for a in remote.Action.listall(for_run_name=recovered.name) if a.name != "a0"}
    assert list(again) == list(parts) and "recovered" in again[list(parts)[0]], again
    started = remote.RunDetails.get(source.name).pb2.run_spec.run_start_time.ToDatetime(datetime.UTC)
    assert output(recovered.name) == started.isoformat()
    monkeypatch.delenv("E2E_WITH_TRIGGERS")
    cli("deploy", "--version", uuid.uuid4().hex[:10], "flows/scheduled.py", "env")  # so that no trigger is left for other tests


def test_a_version_of_an_artifact_fires_once(fragile: Server, warm_command, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch):
    cli = command_line(fragile, tmp_path, warm=warm_command)
    task = "scheduled.read"
    file = tmp_path / "report.txt"
    file.write_text("numbers")

    def publish(version: str, region: str):
        cli("create", "artifact", "report", "--from-file", str(file), "--version", version, "--partition", f"region={region}",
            "--partition", "date=2030-05-17")

    def started():
        return [s for s in slots(fragile, "on_report", task) if s["state"] == "SLOT_STATE_STARTED"]

    publish("before", "us")
    monkeypatch.setenv("E2E_WITH_TRIGGERS", "1")
    cli("deploy", "--version", uuid.uuid4().hex[:10], "flows/scheduled.py", "env")
    assert "'artifactName': 'report'" in cli("get", "trigger", task)

    publish("1", "us")
    publish("2", "eu")
    fired = eventually(started, what="the run of the version")
    name = fired[0]["runId"]["name"]
    assert output(name) == "numbers of 2030-05-17 the trigger"
    metadata = remote.RunDetails.get(name).action_details.pb2.metadata
    assert metadata.trigger_name == "on_report"
    assert metadata.trigger_type.artifact.artifact_name == "report"
    status, graph = fragile.call("flytebinary.insight.v1.ArtifactInsightService/GetLineage", {
        "artifactId": {"name": {"project": "flytesnacks", "domain": "development", "name": "report"}, "version": "1"},
    })
    assert status == 200 and name in json.dumps(graph), graph

    # Neither a restart nor a pause makes a version fire again, and a version of the pause does not fire later.
    fragile.kill()
    fragile.start()
    cli("update", "trigger", "on_report", task, "--deactivate")
    publish("3", "us")
    cli("update", "trigger", "on_report", task, "--activate")
    publish("4", "us")
    eventually(lambda: len(started()) > 1, what="the run of the second version")
    assert [s["artifact"]["version"] for s in started()] == ["4", "1"]
    status, why = fragile.call("flytebinary.insight.v1.TriggerInsightService/ExplainTrigger", {
        "name": {"project": "flytesnacks", "domain": "development", "name": "on_report", "taskName": task},
    })
    assert status == 200, why
    assert {v["artifact"]["version"] for v in why["ignored"]} == {"before", "2", "3"}, why

    # By hand, with a version that did not fire.
    by_hand = flyte.run(
        remote.Trigger.get(name="on_report", task_name=task), report=remote.Artifact.get("report", version="3"),
        day=datetime.datetime(2030, 5, 17, tzinfo=datetime.UTC),
    )
    assert output(by_hand.name).startswith("numbers of 2030-05-17")
