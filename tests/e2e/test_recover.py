"""Rerun and recover through the unmodified SDK and command line: recover reuses succeeded actions."""

from __future__ import annotations

import collections
import pathlib

import flyte
import flyte.remote as remote
import pytest

from flows import recovering
from server import eventually

pytestmark = pytest.mark.usefixtures("sdk")


def diary(folder: pathlib.Path) -> collections.Counter:
    return collections.Counter((folder / "diary").read_text().splitlines())


def phase(name: str, run: str) -> str:
    return word(remote.Action.get(run_name=run, name=name).phase)


def word(value) -> str:
    return str(value).rsplit(".", 1)[-1].lower()


def actions(run: str) -> dict[str, remote.Action]:
    return {a.name: a for a in remote.Action.listall(for_run_name=run)}


def approval(run: str):
    return eventually(lambda: remote.Condition.get("approve", run_name=run), what="the condition")


def made_from(source: str) -> list[str]:
    """The runs that were created from a run. An index serves this list."""
    return [r.name for r in remote.Run.listall(sort_by=("created_at", "desc")) if r.pb2.action.metadata.relation.related_to.name == source]


def finished(name: str):
    run = remote.Run.get(name)
    run.wait(quiet=True)
    return remote.Run.get(name)


def test_recover_reuses_succeeded_actions(cli, tmp_path):
    folder = str(tmp_path)
    source = flyte.run(recovering.whole, folder)
    condition = approval(source.name)
    condition.signal(5)
    source.wait(quiet=True)
    assert word(remote.Run.get(source.name).phase) == "failed"
    once = {"whole": 1, "look 1": 1, "part 0": 1, "part 1": 1, "middle": 1, "part 7": 1, "needs ready": 1}
    assert diary(tmp_path) == once

    (tmp_path / "ready").touch()
    cli("rerun", source.name, "--recover", "--name", f"{source.name[:20]}-rec")
    (name,) = made_from(source.name)
    recovered = finished(name)
    assert word(recovered.phase) == "succeeded"
    assert recovered.outputs()[0] == 1 + 5 + 10 + 70 + 1000
    assert diary(tmp_path) == {**once, "whole": 2, "needs ready": 2}
    assert remote.Action.get(run_name=name, name="a0").relation.related_to.name == source.name
    assert recovered.pb2.action.metadata.relation.relation_type == 2

    before, after = actions(source.name), actions(name)
    again = {n for n, a in after.items() if word(a.phase) != "recovered"}
    assert again == {"a0"} | {n for n, a in before.items() if word(a.phase) == "failed"}
    for n in set(after) - again:
        origin = after[n].pb2.metadata.recovered_from
        assert (origin.run.name, origin.name) == (source.name, n)
    inner = [n for n, a in before.items() if n not in after]
    assert [before[n].pb2.metadata.task.short_name for n in inner] == ["part"], "the result of middle stands for what it called"

    # Only a part and the condition run again; the rest comes from the recovered run, or from the run that it recovered.
    force = next(n for n, a in after.items() if a.pb2.metadata.task.short_name == "middle")
    again = flyte.with_runcontext(mode="remote").rerun(name, recover=True, force_rerun_actions=[force, condition.pb2.id.name])
    eventually(lambda: word(getattr(actions(again.name).get(condition.pb2.id.name), "phase", "")) == "paused", what="the condition to ask again")
    remote.Condition.get("approve", run_name=again.name).signal(6)
    again.wait(quiet=True)
    assert again.outputs()[0] == 1 + 6 + 10 + 70 + 1000
    assert diary(tmp_path) == {**once, "whole": 3, "needs ready": 2, "middle": 2}, "forcing middle does not force what it calls"


def test_rerun_executes_every_action(cli, tmp_path):
    source = flyte.run(recovering.middle, str(tmp_path))
    source.wait(quiet=True)
    cli("rerun", source.name)
    (name,) = made_from(source.name)
    assert finished(name).outputs()[0] == 70
    assert diary(tmp_path) == {"middle": 2, "part 7": 2}
    assert {word(a.phase) for a in actions(name).values()} == {"succeeded"}
    assert remote.Run.get(name).pb2.action.metadata.relation.relation_type == 1

    # A succeeded run has nothing to recover: its outputs are reused.
    cli("rerun", source.name, "--recover", "--name", "nothing-to-do")
    whole = finished("nothing-to-do")
    assert word(whole.phase) == "recovered"
    assert whole.outputs()[0] == 70
    assert diary(tmp_path) == {"middle": 2, "part 7": 2}
    # With other inputs nothing is reused.
    other = tmp_path / "other"
    other.mkdir()
    changed = flyte.with_runcontext(mode="remote").rerun(source.name, recover=True, folder=str(other))
    changed.wait(quiet=True)
    assert changed.outputs()[0] == 70
    assert diary(other) == {"middle": 1, "part 7": 1}


def test_a_retried_parent_replays_its_traces(tmp_path):
    """Story R23: every parent that reconnected made the API server list its whole run, and still missed its
    traces."""
    run = flyte.run(recovering.replays, str(tmp_path))
    run.wait(quiet=True)
    assert run.outputs()[0].startswith("5 ")
    assert diary(tmp_path) == {"replays": 2, "look 5": 1, "stumbles": 2, "refuses": 1}
    traces = {a.pb2.metadata.trace.name: a for a in actions(run.name).values() if a.pb2.metadata.action_type == 2}
    assert word(traces["look"].phase) == "succeeded"
    assert word(traces["refuses"].phase) == "failed"
    for trace in traces.values():
        assert trace.pb2.metadata.parent == "a0"
        status = remote.ActionDetails.get(run_name=run.name, name=trace.name).pb2.status
        assert status.end_time.ToNanoseconds() >= status.start_time.ToNanoseconds()
    assert "never will" in remote.ActionDetails.get(run_name=run.name, name=traces["refuses"].name).error_info.message
