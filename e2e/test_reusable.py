"""Reusable environments: workers run many actions (docs/reusable-environments.md)."""

import flyte
import pytest

from conftest import connect
from flows import reused
from server import Server
from test_flows import phase_of


@pytest.fixture(scope="module")
def pools(tmp_path_factory: pytest.TempPathFactory):
    """A server that has workers."""
    instance = Server(tmp_path_factory.mktemp("pools"), "--set", "workers.enabled=true")
    instance.start()
    connect(instance)
    yield instance
    instance.stop()


def done(task, *args):
    handle = flyte.run(task, *args)
    handle.wait(quiet=True)
    assert phase_of(handle) == "succeeded", handle.name
    return handle.outputs()[0]


def test_two_workers_run_a_map(pools: Server):
    results = [line.split() for line in done(reused.fan_out, 20)]
    assert [int(n) for n, _ in results] == list(range(20)), "in order"
    assert len({pid for _, pid in results}) <= 2, "no process but the workers"


def test_a_parent_does_not_keep_its_children_out(pools: Server):
    assert done(reused.nested, 4) == 10


def test_a_task_that_kills_its_process_is_retried_alone(pools: Server, tmp_path):
    assert done(reused.dies, str(tmp_path)) == 7
