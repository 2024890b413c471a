"""Queues and limits through the unmodified SDK, on a server with configured queues."""

import datetime

import flyte
import flyte.remote as remote
import pytest

from flows import basic, queued, storm
from server import Server, eventually


@pytest.fixture(autouse=True)
def limited(fragile: Server) -> Server:
    """A server that has the queues of conftest.QUEUES."""
    return fragile


def insight(server: Server, method: str, **body) -> dict:
    status, answer = server.call(f"flytebinary.insight.v1.InsightService/{method}", body)
    assert status == 200, answer
    return answer


def action_id(run: str, name: str) -> dict:
    return {"run": {"project": "flytesnacks", "domain": "development", "name": run}, "name": name}


def why(server: Server, run: str, name: str = "a0") -> dict:
    return insight(server, "ExplainAction", actionId=action_id(run, name)).get("wait", {})


def queue(server: Server, name: str) -> dict:
    return next(q for q in insight(server, "ListQueues").get("queues", []) if q["name"] == name)


def details(server: Server, run: str, name: str = "a0") -> dict:
    status, answer = server.call("flyteidl2.workflow.RunService/GetActionDetails", {"actionId": action_id(run, name)})
    assert status == 200, answer
    return answer["details"]


def moment(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def most_at_once(server: Server, run: str) -> int:
    """How many children of a run were running at the same time, at most."""
    changes = []
    for action in remote.Action.listall(for_run_name=run):
        if action.name == "a0":
            continue
        attempt = details(server, run, action.name)["attempts"][-1]
        running = [p for p in attempt["phaseTransitions"] if p["phase"] == "ACTION_PHASE_RUNNING"]
        for phase in running:
            changes += [(moment(phase["startTime"]), 1), (moment(phase["endTime"]), -1)]
    now = most = 0
    for _, change in sorted(changes):
        now += change
        most = max(most, now)
    return most


def succeeded(handle) -> None:
    handle.wait(quiet=True)
    assert "succeeded" in str(remote.Run.get(handle.name).phase).lower(), remote.RunDetails.get(handle.name).action_details.error_info


def waiting_child(server: Server, run: str) -> dict | None:
    for action in remote.Action.listall(for_run_name=run):
        wait = why(server, run, action.name)
        if wait.get("cause", "").startswith("WAIT_CAUSE_QUEUE") or wait.get("cause") == "WAIT_CAUSE_RUN_CONCURRENCY":
            return {"name": action.name, **wait}
    return None


def test_the_queue_of_a_run(limited):
    handle = flyte.with_runcontext(queue="narrow").run(basic.slow_many, 3, 1.0)
    wait = eventually(lambda: waiting_child(limited, handle.name), what="a child that waits")
    assert wait["cause"] == "WAIT_CAUSE_QUEUE_ACTIONS" and wait["queue"] == "narrow" and wait["limit"] == "1", wait
    assert "queue narrow is at its limit (1 of 1 in use)" in wait["message"]
    succeeded(handle)
    assert most_at_once(limited, handle.name) == 1


def test_the_queue_of_a_task(limited):
    handle = flyte.run(queued.into_another_queue, 2, 0.5)
    succeeded(handle)
    assert most_at_once(limited, handle.name) == 1


def test_concurrency_of_a_run(limited):
    handle = flyte.with_runcontext(max_action_concurrency=2).run(basic.slow_many, 4, 1.0)
    wait = eventually(lambda: waiting_child(limited, handle.name), what="a child that waits")
    assert wait["cause"] == "WAIT_CAUSE_RUN_CONCURRENCY" and wait["used"] == "2", wait
    succeeded(handle)
    assert most_at_once(limited, handle.name) <= 2


def test_runs_of_a_queue_and_where_the_reason_is_shown(limited, tmp_path):
    first = flyte.with_runcontext(queue="nightly").run(storm.waits, str(tmp_path / "go"))
    second = flyte.with_runcontext(queue="nightly", labels={"flyte.org/priority": "5"}).run(basic.hello, "you")
    wait = why(limited, second.name)
    assert wait["cause"] == "WAIT_CAUSE_QUEUE_RUNS", wait
    event = details(limited, second.name)["attempts"][0]["clusterEvents"][-1]
    assert event["message"] == "waits: queue nightly is at its limit of concurrent runs (1 of 1 in use)", event
    seen = queue(limited, "nightly")
    assert (seen["maxRuns"], seen["runs"], seen["depth"]) == ("1", "1", "1") and seen["oldestWaiting"], seen
    (tmp_path / "go").touch()
    succeeded(first)
    succeeded(second)


def test_a_full_queue_and_unknown_ones(limited, tmp_path):
    first = flyte.with_runcontext(queue="short").run(storm.waits, str(tmp_path / "go"))
    eventually(lambda: queue(limited, "short").get("actions") == "1", what="the first is live")
    second = flyte.with_runcontext(queue="short").run(basic.hello, "you")
    with pytest.raises(Exception, match="queue short is full: 1 actions are waiting and its limit is 1"):
        flyte.with_runcontext(queue="short").run(basic.hello, "them")
    with pytest.raises(Exception, match="queue sohrt does not exist; queues: default, elsewhere, narrow, nightly, short"):
        flyte.with_runcontext(queue="sohrt").run(basic.hello, "you")
    with pytest.raises(Exception, match="queue elsewhere does not accept runs of project flytesnacks"):
        flyte.with_runcontext(queue="elsewhere").run(basic.hello, "you")
    (tmp_path / "go").touch()
    succeeded(first)
    succeeded(second)
