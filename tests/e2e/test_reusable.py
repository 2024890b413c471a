"""Reusable environments: workers run many actions (docs/reusable-environments.md)."""

import flyte
import pytest
from flyte import remote

from flows import reused
from server import Server
from test_flows import phase_of

pytestmark = pytest.mark.usefixtures("sdk")


def done(task, *args):
    handle = flyte.run(task, *args)
    handle.wait(quiet=True)
    assert phase_of(handle) == "succeeded", handle.name
    return handle.outputs()[0]


def test_two_workers_run_a_map(server: Server):
    results = [line.split() for line in done(reused.fan_out, 20)]
    assert [int(n) for n, _ in results] == list(range(20)), "in order"
    assert len({pid for _, pid in results}) <= 2, "no process but the workers"
    status, answer = server.call("flytebinary.insight.v1.PoolInsightService/ListPools", {"environment": "reused"})
    assert status == 200
    pool = answer["pools"][0]
    assert int(pool["attempts"]) >= 20 and int(pool["warmHits"]) >= 18, pool
    assert int(pool["starts"]) <= 2 and "losses" not in pool, pool


def test_a_parent_does_not_keep_its_children_out(server: Server):
    assert done(reused.nested, 4) == 10
    _, answer = server.call("flytebinary.insight.v1.PoolInsightService/ListPools", {"environment": "narrow"})
    assert int(answer["pools"][0]["starts"]) == 2, "one more worker is enough for one child after the other"


def test_a_task_that_kills_its_process_is_retried_alone(server: Server, tmp_path):
    assert done(reused.dies, str(tmp_path)) == 7


def test_an_attempt_has_its_own_lines(server: Server):
    handle = flyte.run(reused.chorus)
    handle.wait(quiet=True)
    assert phase_of(handle) == "succeeded", handle.name
    words = ("first", "second", "left", "right")
    heard = []
    for action in remote.Action.listall(for_run_name=handle.name):
        if action.name != "a0":  # the SDK has lines of its own
            heard.append([line.strip() for line in action.get_logs() if line.strip().split(" ")[0] in words])
    repeated = [[f"{word} {n}" for n in range(5)] for word in ("left", "right")]
    assert sorted(heard) == sorted([["first"], ["second"], *repeated])
