"""Recovers and reruns a run of two gangs of which the second failed: `both` of flows.on_jobset and flows.on_pytorch."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import flyte
import flyte.remote as remote

RESULT = "2 members met, 2 members met"


def phase(of) -> str:
    return str(of.phase).rsplit(".", 1)[-1].lower()


class Pair:
    """The directories of the two gangs."""

    def __init__(self, folder: pathlib.Path):
        self.folder, self.places = folder, (folder / "first", folder / "second")
        for place in (folder, *self.places):
            place.mkdir(exist_ok=True)
            place.chmod(0o777)

    def ran(self) -> list[str]:
        """Which gangs have run since the last call."""
        found = [place.name for place in self.places if list(place.glob("member-*"))]
        for place in self.places:
            for file in [*place.glob("member-*"), *place.glob("returned-*")]:
                file.unlink()
        return found


def end(name: str) -> remote.Run:
    run = remote.Run.get(name)
    run.wait(quiet=True)
    return remote.Run.get(name)


def why(run: remote.Run) -> str:
    return str(remote.RunDetails.get(run.name).action_details.error_info)


def gangs(run: str) -> dict[str, remote.Action]:
    """The actions of the two gangs, the first one first."""
    found = sorted((a for a in remote.Action.listall(for_run_name=run) if a.name != "a0"), key=lambda a: a.pb2.status.start_time.ToNanoseconds())
    return {action.name: action for action in found}


def check(both, folder: pathlib.Path, rerun: Callable[[str, bool], str]) -> list[str]:
    """Runs both with a second gang that fails, then recovers the run, then runs all of it again. It returns the names of the runs. rerun
    gets the name of a run and whether to recover it, and returns the name of the new one."""
    pair = Pair(folder)
    plan = pair.places[1] / "plan-1"
    plan.write_text("exit")
    source = end(flyte.run(both, folder=str(folder)).name)
    assert phase(source) == "failed"
    assert pair.ran() == ["first", "second"], why(source)
    before = gangs(source.name)
    assert [phase(a) for a in before.values()] == ["succeeded", "failed"]
    plan.unlink()

    recovered = end(rerun(source.name, True))
    assert phase(recovered) == "succeeded", why(recovered)
    assert recovered.outputs()[0] == RESULT
    assert pair.ran() == ["second"], "the gang that succeeded is not run again"
    after = {action.name: action for action in remote.Action.listall(for_run_name=recovered.name) if action.name != "a0"}
    first, second = before
    assert {name: phase(action) for name, action in after.items()} == {first: "recovered", second: "succeeded"}
    origin = after[first].pb2.metadata.recovered_from
    assert (origin.run.name, origin.name) == (source.name, first)

    again = end(rerun(recovered.name, False))
    assert phase(again) == "succeeded", why(again)
    assert again.outputs()[0] == RESULT
    assert pair.ran() == ["first", "second"]
    assert {phase(action) for action in gangs(again.name).values()} == {"succeeded"}
    return [source.name, recovered.name, again.name]


def by_sdk(run: str, recover: bool) -> str:
    return flyte.with_runcontext(mode="remote").rerun(run, recover=recover).name
