"""Failures are grouped over runs, and a parent's failure is left to its child (docs/overviews.md)."""

import time

import flyte
import pytest

from conftest import connect
from flows import churning
from server import Server
from test_flows import phase_of

# A domain in which no other test has these tasks fail.
PLACE = {"projectId": {"name": "flytesnacks", "domain": "staging"}}


@pytest.fixture(autouse=True)
def connected(server: Server):
    connect(server, domain="staging")
    yield
    connect(server)


def ask(server: Server, method: str, body: dict) -> dict:
    status, answer = server.call(f"flytebinary.insight.v1.{method}", body)
    assert status == 200, answer
    return answer


def ended(task, shards: int, known: list[str], phase: str, domain: str = "staging") -> dict:
    handle = flyte.run(task, shards, known)
    handle.wait(quiet=True)
    assert phase_of(handle) == phase, handle.name
    return {"project": "flytesnacks", "domain": domain, "name": handle.name}


def located(server: Server) -> dict:
    """The problem of the shards, when its traceback was read."""
    until = time.monotonic() + 300
    while True:
        found = ask(server, "ProblemService/ListProblems", {**PLACE, "task": "churning.score"}).get("problems", [])
        if found and all(one.get("function") for one in found) and sum(int(one["failures"]) for one in found) == 12:
            assert len(found) == 1, found
            return found[0]
        assert time.monotonic() < until, found
        time.sleep(0.2)


def test_failures_of_a_map_are_one_problem_over_runs(server: Server):
    shards, known = 12, churning.REGIONS
    # Two regions are missing in the second run, so that it has messages that the first does not.
    first = ended(churning.nightly, shards, known[:3], "failed")
    second = ended(churning.weekly, shards, [known[0], known[2]], "failed")
    third = ended(churning.weekly, shards, known[:3], "failed")

    errors = ask(server, "InsightService/ListErrors", {"runId": second})
    assert (errors["total"], errors["inherited"], errors["totalGroups"]) == (8, 2, 1), errors

    problem = located(server)
    assert (problem["code"], problem["function"]) == ("KeyError", "weight"), problem
    assert problem["file"].endswith("churning.py"), problem
    assert int(problem["runs"]) == 3, problem
    assert problem["tasks"] == ["churning.score"], problem
    everything = ask(server, "ProblemService/ListProblems", PLACE)["problems"]
    assert not [one for one in everything if "churning.nightly" in one["tasks"] or "churning.weekly" in one["tasks"]], everything

    # Where the error of a root comes from, over two levels.
    failure = ask(server, "ProblemService/GetFailure", {"actionId": {"run": third, "name": "a0"}})
    assert [one["task"] for one in failure["causedBy"]] == ["churning.nightly", "churning.score"], failure
    assert failure["problem"]["id"] == problem["id"]
    assert "lastSuccess" not in failure, "no run of weekly has succeeded"

    good = ended(churning.weekly, 2, known, "succeeded")
    one = ask(server, "ProblemService/GetProblem", {**PLACE, "id": problem["id"]})
    assert one["lastSuccess"]["runId"]["name"] == good["name"], one
    assert {failed["actionId"]["run"]["name"] for failed in one["latest"]} == {first["name"], second["name"], third["name"]}
    lines = ask(server, "ProblemService/ListRunErrors", {**PLACE, "runs": [first["name"], good["name"]]})
    assert lines["errors"] == {first["name"]: "KeyError: 'latam'"}, lines
