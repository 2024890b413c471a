"""How far runs are: counts in the transaction of each change, what is usual for a task, and the runs of a trigger as one (docs/overviews.md)."""

import datetime
import pathlib
import uuid
from collections import Counter

import flyte
import flyte.remote as remote
import pytest

from conftest import command_line
from flows import storm
from server import Server, eventually

pytestmark = pytest.mark.usefixtures("sdk")

PLACE = {"projectId": {"name": "flytesnacks", "domain": "development"}}


def ask(server: Server, method: str, body: dict) -> dict:
    status, answer = server.call(f"flytebinary.insight.v1.InsightService/{method}", body)
    assert status == 200, answer
    return answer


def summary(server: Server, run: str) -> dict:
    return ask(server, "SummarizeRuns", {**PLACE, "runs": [run]})["runs"][run]


def counts(server: Server, run: str) -> dict[int, int]:
    return {one["phase"]: one["count"] for one in summary(server, run).get("counts", [])}


def test_counts_are_those_of_the_actions(server: Server, tmp_path: pathlib.Path):
    handle = flyte.run(storm.waits_for_file, str(tmp_path / "go"))
    assert eventually(lambda: (tmp_path / "go.child").exists())
    # The root and its child run. Without an earlier run of the task, nothing is usual.
    assert eventually(lambda: counts(server, handle.name) == {4: 2}), counts(server, handle.name)
    first = summary(server, handle.name)
    assert first["startedAt"], first

    (tmp_path / "go").touch()
    handle.wait(quiet=True)
    listed = Counter(int(action.pb2.status.phase) for action in remote.Action.listall(for_run_name=handle.name))
    assert counts(server, handle.name) == dict(listed)
    assert "usual" not in summary(server, handle.name), "it has ended"

    again = flyte.run(storm.waits_for_file, str(tmp_path / "more"))
    usual = summary(server, again.name)["usual"]
    assert usual["runs"] >= 1 and float(usual["p50"].rstrip("s")) > 0, usual
    (tmp_path / "more").touch()
    again.wait(quiet=True)


def test_runs_of_a_trigger_are_one_fold(fragile: Server, warm_command, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch):
    cli = command_line(fragile, tmp_path, warm=warm_command)
    cli("deploy", "--version", uuid.uuid4().hex[:10], "flows/scheduled.py", "env")
    place = {"project": "flytesnacks", "domain": "development"}
    name = f"folded-{uuid.uuid4().hex[:6]}"
    cli("create", "trigger", "scheduled.main", name, "--schedule", "* * * * *", "--trigger-time-var", "at")
    now = datetime.datetime.now(datetime.UTC)
    status, answer = fragile.call("flytebinary.insight.v1.TriggerInsightService/Backfill", {
        "name": {"org": "flyte", **place, "name": name, "taskName": "scheduled.main"},
        "from": (now - datetime.timedelta(minutes=4)).isoformat(), "until": (now - datetime.timedelta(minutes=1)).isoformat(),
    })
    assert status == 200, answer

    def fold() -> dict | None:
        folds = ask(fragile, "FoldRuns", PLACE).get("folds", [])
        found = next((one for one in folds if one["trigger"]["name"] == name), None)
        return found if found and sum(one["count"] for one in found["counts"]) >= 3 else None

    try:
        assert eventually(fold)
    finally:
        cli("delete", "trigger", name, "scheduled.main")
    found = fold()
    latest = found["latest"]["action"]["id"]["run"]["name"]
    filters = [{"function": "EQUAL", "field": "trigger_name", "values": [name]}]
    status, listed = fragile.call("flyteidl2.workflow.RunService/ListRuns", {
        "projectId": {"organization": "flyte", **PLACE["projectId"]}, "request": {"limit": 100, "filters": filters},
    })
    assert status == 200, listed
    names = [run["action"]["id"]["run"]["name"] for run in listed["runs"]]
    assert latest in names and sum(one["count"] for one in found["counts"]) <= len(names), (found, names)
    status, others = fragile.call("flyteidl2.workflow.RunService/ListRuns", {
        "projectId": {"organization": "flyte", **PLACE["projectId"]},
        "request": {"limit": 100, "filters": [{"function": "EQUAL", "field": "trigger_name", "values": [""]}]},
    })
    assert status == 200 and latest not in [run["action"]["id"]["run"]["name"] for run in others.get("runs", [])]

    status, refused = fragile.call("flytebinary.insight.v1.InsightService/FoldRuns", {"projectId": {"name": "flytesnacks"}})
    assert (status, refused["code"]) == (400, "invalid_argument") and "domain" in refused["message"], refused
