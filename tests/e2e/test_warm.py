"""Warm starts: a task cannot tell that its process was forked from one that had imported the SDK (docs/warm-starts.md)."""

import difflib
import json
import re
import urllib.request

import flyte
import pytest

from flows import seen
from test_flows import phase_of, result, run

pytestmark = pytest.mark.usefixtures("sdk")

# A variable that only the dynamic loader reads, and that an empty value leaves without effect. Its presence means a cold start.
COLD = {"LD_AUDIT": ""}


def starts(server) -> dict[str, float]:
    """The node's starts by kind."""
    found: dict[str, float] = {"warm": 0, "cold": 0}
    with urllib.request.urlopen(f"{server.url}/metrics", timeout=60) as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith("flyte_local_node_starts_total{"):
                kind = "warm" if 'start="warm"' in line else "cold"
                found[kind] += float(line.rsplit(" ", 1)[1])
    return found


def look(env_vars: dict[str, str]) -> dict:
    handle = flyte.with_runcontext(env_vars=env_vars).run(seen.process)
    handle.wait(quiet=True)
    assert phase_of(handle) == "succeeded", handle.name
    return json.loads(handle.outputs()[0])


def neutral(one: dict) -> dict:
    """What a process saw, without what differs between any two processes."""
    names = one["environment"]
    text = json.dumps(one, sort_keys=True)
    own = {
        names["HOME"]: "HOME", names["TMPDIR"]: "TMPDIR", one["cwd"]: "CWD", names["RUN_NAME"]: "RUN",
        names["HOSTNAME"]: "HOST", names["FLYTE_LOCAL_CONTAINER"]: "CONTAINER",
    }
    for value, name in sorted(own.items(), key=lambda pair: -len(pair[0])):
        text = text.replace(json.dumps(value)[1:-1], name)
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID", text)
    text = re.sub(r"RUN\.\w+", "RUN.SALT", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+", "TIME", text)
    found = json.loads(text)
    found["environment"].pop("LD_AUDIT", None)
    for key in ("kernel's environment", "environment of children"):
        found[key] = sorted(word for word in found[key] if word and not word.startswith(("LD_AUDIT=", "_=")))
    return found


def explained(differing: dict) -> str:
    lines = []
    for key, pair in differing.items():
        cold, warm = (json.dumps(side, indent=1).splitlines() for side in pair)
        lines += [f"== {key}", *(line for line in difflib.unified_diff(cold, warm, "cold", "warm", n=0, lineterm=""))]
    return "\n".join(lines)


# What a warm process may show, and why.
JUSTIFIED = {
    # Two frames of the program that forked it are below the script's.
    "stack",
}


def test_a_task_cannot_tell(server):
    look({})  # the parent is there, and modules have been compiled
    before = starts(server)
    cold, warm, again = look(COLD), look({}), look({})
    after = starts(server)
    assert [cold["warm"], warm["warm"], again["warm"]] == [False, True, True]
    assert after["warm"] - before["warm"] == 2, after
    assert after["cold"] - before["cold"] == 1, after

    expected, got = neutral(cold["seen"]), neutral(warm["seen"])
    differing = {key: (expected[key], got[key]) for key in expected if expected[key] != got[key] and key not in JUSTIFIED}
    assert not differing, explained(differing)
    own, below = got["stack"][: len(expected["stack"])], got["stack"][len(expected["stack"]) :]
    assert own == expected["stack"]
    assert [frame.rpartition("/")[2] for frame in below] == ["parent.py:run", "parent.py:<module>"]
    for first, second in zip(warm["chance"], again["chance"]):
        assert first != second, "two forks share their random state"
