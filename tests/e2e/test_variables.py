"""Variables arrive as they were given, by every way in which a task or an app can start (docs/wire-compatibility.md)."""

import json
import urllib.request

import flyte
import flyte.remote as remote
import pytest

from flows import variables
from server import Server, eventually
from test_flows import phase_of
from test_warm import COLD

# A name that no shell has, and values that a pod would expand.
OF_RUN = {"1A": "first", "OF_RUN": "$(ONE) $$ $(1A)"}
OF_SETTINGS = {"OF_SETTINGS": "$(ONE)$$"}
PLACE = {"project": "flytesnacks", "domain": "development"}


@pytest.fixture
def with_settings(sdk):
    def change(overrides: dict):
        remote.Settings.get_settings_for_edit(domain=PLACE["domain"], project=PLACE["project"]).update_settings(overrides)

    change({"environment_variables": OF_SETTINGS})
    yield
    change({})


def shown(task, more: dict[str, str]) -> str:
    handle = flyte.with_runcontext(env_vars={**OF_RUN, **more}).run(task)
    handle.wait(quiet=True)
    assert phase_of(handle) == "succeeded", remote.RunDetails.get(handle.name).action_details.error_info
    return handle.outputs()[0]


def test_variables_arrive_as_they_are(server: Server, with_settings):
    wanted = {**variables.GIVEN, **OF_RUN, **OF_SETTINGS}
    assert json.loads(shown(variables.in_a_pod, COLD)) == wanted, "cold"
    for _ in range(2):  # a warm parent is there for the second one at the latest
        assert json.loads(shown(variables.in_a_pod, {})) == wanted, "warm"
    for task in (variables.in_a_pool, variables.in_a_shared_process):
        for _ in range(2):  # in a new worker, and in one that has run another task
            assert json.loads(shown(task, {})) == wanted, task.name
    lines = shown(variables.raw, {}).splitlines()
    for name, value in wanted.items():
        if name != "1A":  # shells drop it
            assert f"{name}={value}" in lines, lines


def test_what_no_pod_could_have_is_refused_at_the_door(server: Server, sdk):
    for words, wrong in {
        r"run_spec\.envs\.values": {"env_vars": {"a=b": "x"}},
        r"run_spec\.labels\.values": {"labels": {"team": "not a value"}},
        r"run_spec\.annotations": {"annotations": {"note": "x" * 262_144}},
        r"task_template|run_spec\.envs": {"env_vars": {"A": "x" * 2_000_000}},
    }.items():
        with pytest.raises(Exception, match=words):
            flyte.with_runcontext(**wrong).run(variables.in_a_pod)
    # What is as large as it may be has its pod.
    handle = flyte.with_runcontext(annotations={"note": "x" * (258_048 - len("note"))}).run(variables.in_a_pod)
    handle.wait(quiet=True)
    assert phase_of(handle) == "succeeded", remote.RunDetails.get(handle.name).action_details.error_info


def test_variables_of_apps_arrive_as_they_are(server: Server, sdk):
    flyte.deploy(variables.app())
    url = f"http://{server.endpoint}/apps/flytesnacks/development/variables/"
    seen: dict[str, str] = {}

    def answers() -> bool:
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                seen.update(json.load(answer))
        except OSError:
            return False
        return True

    eventually(answers)
    assert {name: seen.get(name) for name in variables.GIVEN} == variables.GIVEN
