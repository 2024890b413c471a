"""What tasks use of the machine (docs/resources.md), with the released client against a demo."""

import flyte
import pytest

from conftest import connect
from flows import usage
from server import Server, eventually
from test_flows import phase_of

MIB = 1 << 20


@pytest.fixture(autouse=True)
def connected(server: Server):
    connect(server)


def asked(server: Server, handle, attempt: int = 0) -> dict:
    who = {"run": {"org": "flyte", "project": "flytesnacks", "domain": "development", "name": handle.name}, "name": "a0"}
    status, answer = server.call("flytebinary.insight.v1.InsightService/GetAttemptUsage", {"actionId": who, "attempt": attempt})
    assert status == 200, answer
    return answer


def test_a_busy_task_is_measured(server: Server):
    handle = flyte.run(usage.busy, 5, 150)
    handle.wait(quiet=True)
    assert phase_of(handle) == "succeeded"
    answer = eventually(lambda: (found := asked(server, handle)) and found.get("points") and found, timeout=30)
    assert len(answer["points"]) >= 3
    assert 150 * MIB < int(answer["peaks"]["memoryBytes"]) < 400 * MIB
    assert int(answer["peaks"]["cpuMilli"]) > 0
    assert answer["requests"]["cpuMilli"] == "500"
    assert answer["limits"]["memoryBytes"] == str(512 * MIB)
    spent = handle.outputs()[0]
    # Without what it spent before the first measurement, and with what its supervisor did.
    assert 0.5 * spent < float(answer["cpuTime"].removesuffix("s")) < 1.5 * spent + 1
    assert int(answer["peaks"]["diskBytes"]) > 0
    assert "outOfMemory" not in answer


def test_a_task_that_runs_out_of_memory_keeps_its_curve(server: Server):
    handle = flyte.run(usage.hungry, 8)
    handle.wait(quiet=True)
    assert phase_of(handle) == "failed"
    answer = asked(server, handle)
    assert answer["outOfMemory"] is True
    assert answer["points"], answer
    assert answer["limits"]["memoryBytes"] == str(384 * MIB)


def test_an_action_that_does_not_exist_is_not_found(server: Server):
    who = {"run": {"org": "flyte", "project": "flytesnacks", "domain": "development", "name": "nothing"}, "name": "a0"}
    status, answer = server.call("flytebinary.insight.v1.InsightService/GetAttemptUsage", {"actionId": who})
    assert status == 404 and answer["code"] == "not_found", answer
