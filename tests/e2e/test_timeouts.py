"""The three timeouts that a task can declare, and sleeps without a pod."""

import datetime

import flyte
import flyte.remote as remote
import pytest

from flows import timing
from server import Server, eventually
pytestmark = pytest.mark.usefixtures("sdk")


# What runs_too_long and misses_its_deadline would take without a timeout.
LONGEST = 60


def details_of(run: str, short_name: str):
    for action in remote.Action.listall(for_run_name=run):
        if action.pb2.metadata.task.short_name == short_name or short_name in action.pb2.metadata.task.id.name:
            return remote.ActionDetails.get(run_name=run, name=action.name)
    raise AssertionError(f"no action {short_name} in {run}")


def seconds(details) -> float:
    return details.pb2.status.duration_ms / 1000


def began(run: str) -> datetime.datetime:
    """When the root of a run began, in local time."""
    return datetime.datetime.fromtimestamp(remote.Run.get(run).pb2.action.status.start_time.ToNanoseconds() / 1e9)


def test_each_timeout_has_its_own_error():
    handle = flyte.run(timing.sees_each_timeout)
    handle.wait(quiet=True)
    runtime, deadline, queued = handle.outputs()[0]
    assert runtime.startswith("MaxRuntimeExceededError") and "timeout of 2s" in runtime
    assert deadline.startswith("DeadlineExceededError") and "deadline of 4s over all attempts" in deadline
    assert queued.startswith("MaxQueuedTimeExceededError") and "queued timeout of 2s" in queued

    details = details_of(handle.name, "misses_its_deadline")
    assert details.pb2.status.phase == 8 and details.pb2.status.attempts == 1
    assert 4 <= seconds(details) < LONGEST
    details = details_of(handle.name, "never_starts")
    assert details.pb2.status.phase == 8 and details.pb2.status.attempts == 1
    assert 2 <= seconds(details) < LONGEST
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
    handle = flyte.run(timing.naps, 20, 1.0)
    handle.wait(quiet=True)
    assert handle.outputs()[0] == 20
    slept = [a for a in remote.Action.listall(for_run_name=handle.name) if a.pb2.metadata.task.task_type == "core-sleep"]
    assert len(slept) == 23
    assert all(a.pb2.status.phase == 5 for a in slept)
    for action in slept[:20]:
        running = remote.ActionDetails.get(run_name=handle.name, name=action.name).pb2.attempts[0].phase_transitions
        assert [step.phase for step in running] == [1, 4, 5]


def test_root_that_sleeps():
    handle = flyte.run(timing.nap, datetime.timedelta(seconds=1))
    handle.wait(quiet=True)
    assert remote.Run.get(handle.name).pb2.action.status.duration_ms >= 1000


def test_timers_expire_while_the_server_is_down(fragile: Server):
    """The server is killed before a sleep and a deadline are due, and starts again after that."""
    sleep, late, span = both_running()
    due = max(began(late), began(sleep)) + span
    fragile.kill()
    eventually(lambda: datetime.datetime.now() > due, what="the due time of both")
    fragile.start()
    eventually(lambda: phase(late) == 8, what="the deadline to expire")
    eventually(lambda: phase(sleep) == 5, what="the end of the sleep")
    slept = remote.ActionDetails.get(run_name=sleep, name="a0").pb2.attempts[0].phase_transitions[1]
    assert slept.end_time.ToDatetime() - slept.start_time.ToDatetime() == span


def both_running() -> tuple[str, str, datetime.timedelta]:
    """A run that sleeps for a time and one with that time as its deadline, both running. A busy machine takes longer to
    start both."""
    for seconds in (4, 16, 64, 256):
        span = datetime.timedelta(seconds=seconds)
        late = flyte.run(timing.misses_its_deadline.override(timeout=flyte.Timeout(deadline=span))).name
        eventually(lambda: phase(late) >= 4, what="the task runs")  # noqa: B023
        sleep = flyte.run(timing.nap, span).name
        eventually(lambda: phase(sleep) >= 4, what="the sleep runs")  # noqa: B023
        if phase(late) == phase(sleep) == 4:
            return sleep, late, span
    raise AssertionError("a task and a sleep of four minutes never ran at the same time")


def phase(run: str) -> int:
    return remote.Run.get(run).pb2.action.status.phase
