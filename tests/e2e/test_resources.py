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


@pytest.fixture
def seldom(tmp_path_factory: pytest.TempPathFactory):
    """A server that measures as seldom as one on Kubernetes."""
    instance = Server(tmp_path_factory.mktemp("seldom"), "--set", "executor.measure.interval=15s", "--set", "executor.measure.report=1m")
    instance.start()
    yield instance
    instance.stop()


@pytest.mark.parametrize("name", ["server", "seldom"])
def test_a_task_of_ten_seconds_is_measured(name: str, request: pytest.FixtureRequest):
    server = request.getfixturevalue(name)
    connect(server)
    handle = flyte.run(usage.brief, 10, 100)
    handle.wait(quiet=True)
    assert phase_of(handle) == "succeeded"
    run = {"org": "flyte", "project": "flytesnacks", "domain": "development", "name": handle.name}

    def cost() -> dict:
        status, answer = server.call("flytebinary.insight.v1.CostService/GetRunCost", {"runId": run})
        assert status in (200, 404), answer
        return answer.get("use", {})

    use = eventually(lambda: (found := cost()) and found.get("coreHours") and found, timeout=60, what="what the run cost")
    measured = use["measured"]
    least = 100 if name == "server" else 20  # MiB: on a slow machine the last measurement may be one of Python's start
    # Of half a core and 128 MiB. What it used after the last measurement is on neither side.
    assert measured["requestedCoreHours"] > 0.2 * use["coreHours"], use  # which include the start of the container
    assert 0 < measured["usedCoreHours"] / measured["requestedCoreHours"] < 2, use
    assert least / 128 < measured["usedGibHours"] / measured["requestedGibHours"] < 300 / 128, use
    status, costs = server.call("flytebinary.insight.v1.CostService/GetCosts", {
        "projectId": {"name": "flytesnacks", "domain": "development"}, "group": "COST_GROUP_TASK"})
    assert status == 200 and next(one for one in costs["parts"] if one["name"] == "usage.brief")["use"]["measured"]["usedCoreHours"] > 0, costs

    answer = asked(server, handle)
    assert int(answer["peaks"]["memoryBytes"]) > least * MIB and int(answer["peaks"]["cpuMilli"]) > 0, answer
    assert 2 <= len(answer["points"]) <= (7 if name == "server" else 4), answer
    assert 0.3 * handle.outputs()[0] < float(answer["cpuTime"].removesuffix("s")), answer


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
