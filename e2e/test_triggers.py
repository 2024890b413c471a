"""Triggers through the released SDK and command line, with a server that dies between two slots."""

import datetime
import json
import pathlib
import re
import time
import uuid

import flyte
import flyte.remote as remote
import pytest

from conftest import command_line, connect
from server import Server, eventually

TASK = "scheduled.main"


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory, home):
    instance = Server(tmp_path_factory.mktemp("triggers"))
    instance.start()
    yield instance
    instance.stop()


def slots(server: Server, name: str) -> list[dict]:
    status, answer = server.call("flytebinary.insight.v1.TriggerInsightService/ListSlots", {
        "name": {"project": "flytesnacks", "domain": "development", "name": name, "taskName": TASK},
    })
    assert status == 200, answer
    return answer.get("slots", [])


def output(name: str) -> str:
    run = remote.Run.get(name)
    run.wait(quiet=True)
    return run.outputs()[0]


def test_triggers(own: Server, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch):
    connect(own)
    cli = command_line(own, tmp_path)

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
    own.kill()
    time.sleep(max(0, (first - datetime.datetime.now(datetime.UTC)).total_seconds()))
    own.start()
    fired = eventually(lambda: [s for s in slots(own, "rate") if s["state"] == "SLOT_STATE_STARTED"], what="the slot")
    assert output(fired[0]["runId"]["name"]) == f"{first.isoformat()} 7 the trigger"
    details = remote.RunDetails.get(fired[0]["runId"]["name"])
    assert details.action_details.pb2.metadata.trigger_name == "rate"

    # After another restart, it does not fire again. A user's pause survives a deployment.
    cli("update", "trigger", "rate", TASK, "--deactivate")
    own.kill()
    own.start()
    cli("deploy", "--version", version, "flows/scheduled.py", "env")
    assert not remote.Trigger.get(name="rate", task_name=TASK).is_active
    assert len(slots(own, "rate")) == 1

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
    assert json.dumps(slots(own, "rate")).count("SLOT_STATE_STARTED") == 1
