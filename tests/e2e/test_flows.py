"""Flows through the unmodified SDK: what a user's first weeks look like."""

import datetime
import json
import pathlib
import urllib.error
import urllib.request
import uuid

import flyte
import flyte.errors
import flyte.remote as remote
import pytest

from flows import basic, context, failing, kinds, logs
from server import Server, alive, eventually

pytestmark = pytest.mark.usefixtures("sdk")


def run(task, *args, **kwargs):
    """Runs a task, waits until it is terminal, and returns the run."""
    handle = flyte.run(task, *args, **kwargs)
    handle.wait(quiet=True)
    return handle


def result(task, *args, **kwargs):
    """The first output of a task that must succeed."""
    handle = run(task, *args, **kwargs)
    phase = remote.Run.get(handle.name).phase
    if "succeeded" not in str(phase).lower():
        error = remote.RunDetails.get(handle.name).action_details.error_info
        pytest.fail(f"run {handle.name} ended {phase}: {error}")
    return handle.outputs()


def actions(handle) -> list:
    return list(remote.Action.listall(for_run_name=handle.name))


def phase_of(handle) -> str:
    return str(remote.Run.get(handle.name).phase).rsplit(".", 1)[-1].lower()


def test_flat():
    assert result(basic.hello, "you")[0] == "hello you"


def test_nested():
    assert result(basic.nested, 3)[0] == 3


def test_gather():
    assert result(basic.gathered, 5)[0] == [10, 11, 12, 13, 14]


def test_siblings_are_described_by_their_inputs(server: Server):
    handle = run(basic.churn, 40)
    assert handle.outputs()[0] == 2
    run_id = {"project": "flytesnacks", "domain": "development", "name": handle.name}
    status, answer = server.call("flytebinary.insight.v1.InsightService/DescribeActions", {"runId": run_id, "numbers": list(range(500))})
    assert status == 200, answer
    given = [{one["name"]: one["value"] for one in action["inputs"]} for action in answer["actions"]]
    assert given[0] == {"shards": "40"}
    # The client records the calls of a map about in order, but not exactly.
    assert sorted(int(one["shard"]) for one in given[1:]) == list(range(40))
    assert {int(one["shard"]) for one in given[1:] if one["region"] == "latam"} == {7, 23}
    assert {one["model"] for one in given[1:]} == {"large"}


def test_map_with_concurrency():
    assert result(basic.mapped, 5, 2)[0] == [1, 2, 3, 4, 5]


def test_groups():
    handle = run(basic.grouped)
    assert handle.outputs()[0] == 5
    groups = {a.pb2.metadata.group for a in actions(handle)}
    assert {"first", "second"} <= groups


def test_equal_calls_are_separate_actions():
    handle = run(basic.equal_calls, 4)
    assert handle.outputs()[0] == [14] * 4
    assert len(actions(handle)) == 5


def test_tasks_without_outputs_succeed():
    handle = run(basic.void_children, 4)
    assert handle.outputs()[0] == 4
    assert {str(a.phase).rsplit(".", 1)[-1].lower() for a in actions(handle)} == {"succeeded"}


def test_scalars():
    when = datetime.datetime(2024, 2, 29, 12, 30, 15, 123456, tzinfo=datetime.timezone.utc)
    values = (-(2**53), 3.25, "grüße\n", True, when, datetime.timedelta(days=1, milliseconds=5))
    assert tuple(result(kinds.scalars, *values)) == values


def test_structs():
    point = kinds.Point(1, 2.5, ["a", "b"])
    order = kinds.Order(name="o", lines={"x": 1})
    got = result(kinds.structs, point, order, kinds.Colour.BLUE, b"\x00\xff")
    assert (got[0].x, got[0].y, got[0].tags) == (1, 2.5, ["a", "b"])
    assert got[1].lines == {"x": 1}
    assert getattr(got[2], "value", got[2]) == "blue" or getattr(got[2], "name", "") == "BLUE"
    assert got[3] == b"\x00\xff"


def test_collections():
    points = [kinds.Point(1, 1.0, []), kinds.Point(2, 2.0, ["z"])]
    got = result(kinds.collections, [[1], [], [2, 3]], {"a": {"b": 1.5}}, points, "either")
    assert got[0] == [[1], [], [2, 3]]
    assert got[1] == {"a": {"b": 1.5}}
    assert [p.x for p in got[2]] == [1, 2]
    assert got[3] == "either"
    assert got[4] is None


def test_file():
    assert result(kinds.file_round_trip, "content of a file")[0] == "content of a file"


def test_dir():
    assert result(kinds.dir_round_trip, ["one", "two"])[0] == ["one", "two"]


def test_dataframe():
    assert result(kinds.frame_round_trip, 10)[0] == sum(i * i for i in range(10))


def test_parent_catches_with_the_code_of_the_exception():
    text = result(failing.catches)[0]
    assert text.startswith("ValueError") and "caught by the parent" in text


def test_uncaught_exception_fails_the_run_with_its_message():
    handle = run(failing.passes_on)
    assert phase_of(handle) == "failed"
    error = remote.RunDetails.get(handle.name).action_details.error_info
    assert "not caught" in error.message
    assert error.kind == 1  # KIND_USER


def test_killed_by_a_signal_is_explained():
    handle = run(failing.killed)
    assert phase_of(handle) == "failed"
    message = remote.RunDetails.get(handle.name).action_details.error_info.message
    assert "SIGKILL" in message or "137" in message


def test_out_of_memory_has_its_own_error():
    handle = run(failing.hog.override(resources=flyte.Resources(cpu="200m", memory="300Mi")), 600)
    assert phase_of(handle) == "failed"
    assert "memory" in remote.RunDetails.get(handle.name).action_details.error_info.message.lower()


def test_retries_use_new_attempts(tmp_path: pathlib.Path):
    handle = run(failing.flaky, str(tmp_path / "marks"))
    assert handle.outputs()[0] == 2
    details = remote.RunDetails.get(handle.name).action_details
    assert details.attempts == 3
    attempts = details.pb2.attempts
    assert [a.attempt for a in attempts] == [1, 2, 3]
    assert "0 marks" in attempts[0].error_info.message
    assert "1 marks" in attempts[1].error_info.message


def test_module_that_does_not_import():
    from flows import broken_import

    handle = run(broken_import.unreachable)
    assert phase_of(handle) == "failed"
    assert "a_module_that_nobody_has" in remote.RunDetails.get(handle.name).action_details.error_info.message


def test_environment_of_run_reaches_children():
    handle = flyte.with_runcontext(env_vars={"FROM_RUN": "down the tree"}).run(
        context.env_of_child, ["FROM_RUN", "FROM_ENVIRONMENT"]
    )
    handle.wait(quiet=True)
    assert handle.outputs()[0] == {"FROM_RUN": "down the tree", "FROM_ENVIRONMENT": "yes"}


def test_overrides():
    assert result(context.overridden)[0] == {"OVERRIDDEN": "indeed"}


def test_custom_context():
    handle = flyte.with_runcontext(custom_context={"step": "one", "who": "us"}).run(context.context_of_child)
    handle.wait(quiet=True)
    assert handle.outputs()[0] == {"step": "two", "who": "us"}


def test_report():
    handle = run(context.reporting, "a report for you")
    assert handle.outputs()[0] == "a report for you"
    assert "a report for you" in handle.get_report()


def test_traces_are_actions():
    handle = run(context.traced, 3)
    assert handle.outputs()[0] == 6
    traces = [a for a in actions(handle) if a.pb2.metadata.action_type == 2]
    assert len(traces) == 3
    assert {str(a.phase).rsplit(".", 1)[-1].lower() for a in traces} == {"succeeded"}


def test_run_inside_a_task():
    name = result(context.runs_a_run, 5)[0]
    inner = remote.Run.get(name)
    inner.wait(quiet=True)
    assert inner.outputs()[0] == 15


def test_cancel_of_a_child_kills_its_process(tmp_path: pathlib.Path):
    assert result(failing.cancels, str(tmp_path))[0] == "cancelled"
    for name in ("pid", "pid.child"):
        pid = int((tmp_path / name).read_text())
        eventually(lambda: not alive(pid), what=f"the end of process {pid}")


def test_abort_leaves_no_process(tmp_path: pathlib.Path):
    """Story R4: the database said ABORTED while the pod kept running, and finished runs became ABORTED after a laptop
    had slept."""
    handle = flyte.run(failing.holds_sleepers, str(tmp_path), 2)
    pids = eventually(
        lambda: len(list(tmp_path.glob("pid*.child"))) == 2 and [int(p.read_text()) for p in tmp_path.glob("pid*")],
        what="two sleepers",
    )
    remote.Run.get(handle.name).abort("enough of it")
    handle.wait(quiet=True)
    assert phase_of(handle) == "aborted"
    assert remote.RunDetails.get(handle.name).action_details.abort_info.reason == "enough of it"
    for pid in pids:
        eventually(lambda: not alive(pid), what=f"the end of process {pid}")
    assert {str(a.phase).rsplit(".", 1)[-1].lower() for a in actions(handle)} == {"aborted"}


def test_deploy_then_run_by_reference_and_by_version():
    version = uuid.uuid4().hex[:12]
    flyte.deploy(basic.env, version=version)
    latest = remote.Task.get("basic.add", auto_version="latest")
    handle = flyte.run(latest, x=4)
    handle.wait(quiet=True)
    assert handle.outputs()[0] == 5
    pinned = remote.Task.get("basic.add", version=version)
    handle = flyte.run(pinned, x=4, y=6)
    handle.wait(quiet=True)
    assert handle.outputs()[0] == 10
    flyte.deploy(basic.env, version=version)  # deploying the same again is not an error


def test_rerun_with_and_without_changed_inputs():
    first = run(basic.add, 2, 3)
    again = flyte.rerun(first.name)
    again.wait(quiet=True)
    assert again.outputs()[0] == 5
    changed = flyte.rerun(first.name, x=40)
    changed.wait(quiet=True)
    assert changed.outputs()[0] == 43


def test_explicit_name_cannot_be_taken_twice():
    name = "n" + uuid.uuid4().hex[:12]
    handle = flyte.with_runcontext(name=name).run(basic.add, 1, 1)
    handle.wait(quiet=True)
    with pytest.raises(flyte.errors.RuntimeUserError, match="(?i)exist"):
        flyte.with_runcontext(name=name).run(basic.add, 2, 2)
    assert remote.Run.get(name).outputs()[0] == 2


def test_pods_that_are_not_allowed_are_refused(server):
    """A privileged pod and a service account of somebody else are refused at once, with what would allow them."""
    request = urllib.request.Request(
        f"http://{server.endpoint}/flyteidl2.workflow.RunService/CreateRun", headers={"Content-Type": "application/json"},
        data=json.dumps({
            "projectId": {"name": "flytesnacks", "domain": "development"},
            "taskSpec": {"taskTemplate": {
                "id": {"name": "env.privileged", "version": "1"}, "type": "python",
                "k8sPod": {"primaryContainerName": "main", "podSpec": {
                    "containers": [{"name": "main", "image": "i", "securityContext": {"privileged": True}}]}},
            }},
        }).encode())
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=30)
    answer = json.loads(refused.value.read())
    assert answer["code"] == "invalid_argument"
    assert "task_spec.task_template.k8s_pod.pod_spec" in answer["message"]
    assert 'container "main" must not set securityContext.privileged=true' in answer["message"]
    assert "executor.pod.policy.exceptions: [privileged]" in answer["message"]
    with pytest.raises(Exception, match=r'service account "admin".*executor\.pod\.policy\.serviceAccounts'):
        flyte.with_runcontext(service_account="admin").run(basic.hello, "you")


def test_long_lines_keep_their_letters(sdk):
    handle = run(logs.letters, count=500_000)
    assert phase_of(handle) == "succeeded"
    text = "".join(handle.get_logs())
    assert "\ufffd" not in text
    assert text.count("é") == 500_000
