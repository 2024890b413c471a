"""The three timeouts that a task can declare, and sleeps without a pod."""

import datetime
import time

import flyte
import flyte.remote as remote
import pytest

from flows import timing
from server import Server, eventually
from conftest import connect

pytestmark = pytest.mark.usefixtures("sdk")


def details_of(run: str, short_name: str):
    for action in remote.Action.listall(for_run_name=run):
        if action.pb2.metadata.task.short_name == short_name or short_name in action.pb2.metadata.task.id.name:
            return remote.ActionDetails.get(run_name=run, name=action.name)
    raise AssertionError(f"no action {short_name} in {run}")


def seconds(details) -> float:
    return details.pb2.status.duration_ms / 1000


def test_each_timeout_is_told_apart():
    handle = flyte.run(timing.sees_each_timeout)
    handle.wait(quiet=True)
    runtime, deadline, queued = handle.outputs()[0]
    assert runtime.startswith("MaxRuntimeExceededError") and "timeout of 2s" in runtime
    assert deadline.startswith("DeadlineExceededError") and "deadline of 4s over all attempts" in deadline
    assert queued.startswith("MaxQueuedTimeExceededError") and "queued timeout of 2s" in queued

    details = details_of(handle.name, "misses_its_deadline")
    assert details.pb2.status.phase == 8 and details.pb2.status.attempts == 1
    assert 4 <= seconds(details) < 5.5
    details = details_of(handle.name, "never_starts")
    assert details.pb2.status.phase == 8 and details.pb2.status.attempts == 1
    assert 2 <= seconds(details) < 3.5
    details = details_of(handle.name, "runs_too_long")
    assert details.pb2.status.phase == 8 and details.pb2.status.attempts == 2, "an attempt that runs too long uses a retry"
    lost = details.pb2.attempts[0]
    assert lost.phase == 8 and lost.error_info.code == "MAX_RUNTIME_EXCEEDED"
    words = [event.message for event in details.pb2.attempts[1].cluster_events]
    assert any("retry 1 of 1" in text for text in words), words


def test_root_that_times_out():
    handle = flyte.run(timing.misses_its_deadline)
    handle.wait(quiet=True)
    with pytest.raises(flyte.errors.DeadlineExceededError, match="deadline of 4s"):
        remote.Run.get(handle.name).raise_for_status()


def test_sleeps_need_no_pod():
    began = time.monotonic()
    handle = flyte.run(timing.naps, 20, 1.0)
    handle.wait(quiet=True)
    assert handle.outputs()[0] == 20
    assert time.monotonic() - began < 30
    slept = [a for a in remote.Action.listall(for_run_name=handle.name) if a.pb2.metadata.task.task_type == "core-sleep"]
    assert len(slept) == 23
    assert all(a.pb2.status.phase == 5 for a in slept)
    for action in slept[:20]:
        running = remote.ActionDetails.get(run_name=handle.name, name=action.name).pb2.attempts[0].phase_transitions
        assert [step.phase for step in running] == [1, 4, 5]


def test_root_that_sleeps():
    handle = flyte.run(timing.nap, datetime.timedelta(seconds=1))
    handle.wait(quiet=True)
    assert 1 <= remote.Run.get(handle.name).pb2.action.status.duration_ms / 1000 < 2


def test_times_are_kept_while_nobody_looks(tmp_path):
    """The server is killed before the time of a sleep and of a deadline is over, and comes back after it."""
    own = Server(tmp_path)
    own.start()
    try:
        connect(own)
        sleep = flyte.run(timing.nap, datetime.timedelta(seconds=4))
        late = flyte.run(timing.misses_its_deadline)
        eventually(lambda: remote.Run.get(late.name).pb2.action.status.phase == 4, what="the task runs")
        eventually(lambda: remote.Run.get(sleep.name).pb2.action.status.phase == 4, what="the sleep runs")
        own.kill()
        time.sleep(5)
        own.start()
        connect(own)
        eventually(lambda: remote.Run.get(late.name).pb2.action.status.phase == 8, timeout=30, what="the deadline counts on")
        eventually(lambda: remote.Run.get(sleep.name).pb2.action.status.phase == 5, timeout=30, what="the sleep goes on")
        slept = remote.ActionDetails.get(run_name=sleep.name, name="a0").pb2.attempts[0].phase_transitions[1]
        assert (slept.end_time.ToDatetime() - slept.start_time.ToDatetime()).total_seconds() == 4
    finally:
        own.stop()
