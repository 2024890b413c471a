"""How tasks do over many runs, what the cache does for them, and what they cost (docs/overviews.md)."""

import time
import uuid

import flyte
import pytest

from flows import cached, churning
from server import Server
from test_problems import ask, ended

pytestmark = pytest.mark.usefixtures("sdk")

PLACE = {"projectId": {"name": "flytesnacks", "domain": "development"}}


def counted(server: Server, method: str, body: dict, until) -> dict:
    """The answer, once what ended is counted."""
    deadline = time.monotonic() + 60
    while True:
        answer = ask(server, method, {**PLACE, **body})
        if until(answer):
            return answer
        assert time.monotonic() < deadline, answer
        time.sleep(0.2)


def health(server: Server, task: str, ended_at_least: int) -> dict:
    def enough(answer: dict) -> bool:
        return any(one["name"] == task and one.get("succeeded", 0) + one.get("failed", 0) >= ended_at_least for one in answer.get("tasks", []))

    return next(one for one in counted(server, "TaskHealthService/ListTaskHealth", {"text": task}, enough)["tasks"] if one["name"] == task)


def test_a_map_in_the_health_of_tasks_in_a_grid_and_in_costs(server: Server):
    run = ended(churning.weekly, 6, churning.REGIONS[:3], "failed", "development")
    score = health(server, "churning.score", 6)
    assert score["failed"] >= 1 and 0 < score["failureRate"] < 1, score
    assert len(score["outcomes"]) >= 6 and score["use"]["coreHours"] > 0, score
    assert "cost" not in score["use"], "no price is set"

    grid = counted(server, "TaskHealthService/GetPipelineGrid", {"task": "churning.weekly"}, lambda answer: answer["runs"][-1]["name"] == run["name"] and len(answer["tasks"]) >= 3)
    cell = next(row for row in grid["tasks"] if row["name"] == "churning.score")["cells"][-1]
    assert cell["actions"] == 6 and cell["succeeded"] + cell["failed"] == 6, cell

    inside = ask(server, "TaskHealthService/ListTaskActions", {**PLACE, "task": "churning.score", "phases": ["ACTION_PHASE_FAILED"]})["actions"]
    mine = [one for one in inside if one["actionId"]["run"]["name"] == run["name"]]
    assert len(mine) == cell["failed"] and {one["rootTask"] for one in mine} == {"churning.weekly"}, inside

    def mine_in(answer: dict) -> bool:
        return any(part["name"] == run["name"] for part in answer.get("parts", []))

    costs = counted(server, "CostService/GetCosts", {"group": "COST_GROUP_RUN"}, mine_in)
    assert costs["missingSetting"] == "runs.cost.prices" and "currency" not in costs, costs
    status, own = server.call("flytebinary.insight.v1.CostService/GetRunCost", {"runId": run})
    assert status == 200 and own["use"]["coreHours"] > 0, own


def test_the_cache_says_why_it_missed_and_forgets_what_is_evicted(server: Server):
    word = uuid.uuid4().hex
    for _ in range(2):
        flyte.run(cached.stamp, word).wait(quiet=True)
    last = flyte.run(cached.stamp, word + "x")
    last.wait(quiet=True)
    task = "cached.stamp"

    def counts(answer: dict) -> bool:
        return any(one["task"] == task and int(one.get("hits", 0)) >= 1 and one.get("misses") for one in answer.get("tasks", []))

    counted(server, "CacheInsightService/ListCacheUse", {}, counts)
    miss = ask(server, "CacheInsightService/ListCacheMisses", {**PLACE, "task": task})["misses"][0]
    assert miss["actionId"]["run"]["name"] == last.name, miss
    assert (miss["reason"], miss["inputs"]) == ("CACHE_MISS_REASON_INPUTS", ["x"]), miss

    gone = ask(server, "CacheInsightService/EvictCacheEntries", {**PLACE, "task": task, "actionId": miss["actionId"]})
    assert gone["evicted"] == 1, gone
    again = flyte.run(cached.stamp, word + "x")
    again.wait(quiet=True)
    misses = ask(server, "CacheInsightService/ListCacheMisses", {**PLACE, "task": task})["misses"]
    assert misses[0]["actionId"]["run"]["name"] == again.name, misses
    everything = ask(server, "CacheInsightService/EvictCacheEntries", {**PLACE, "task": task})
    assert everything["evicted"] >= 2 and "token" not in everything, everything
