"""The Python program of `make bench` prints its figures. Their values are not checked: machines are busy."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest

from server import Server

PROGRAM = pathlib.Path(__file__).resolve().parents[1] / "bench" / "python_tasks.py"

POOLS = ["2 tasks in a pool with one slot each", "2 tasks in a pool with 20 slots each"]


@pytest.mark.parametrize(("part", "measured", "figures"), [
    (["alone", "1"], [], [
        "cold task, CPU of its process until it returns", "cold task, request to result",
        "warm task, CPU of its process until it returns", "warm task, request to result",
    ]),
    (["pool", "2"], POOLS, [f"{pool}, request to result" for pool in POOLS]),
])
def test_python_tasks(server: Server, tmp_path, part, measured, figures):
    program = tmp_path / PROGRAM.name  # the SDK uploads its directory
    program.write_bytes(PROGRAM.read_bytes())
    done = subprocess.run(
        [sys.executable, program, server.endpoint.removeprefix("dns:///"), *part],
        cwd=tmp_path, env={**os.environ, "HOME": str(tmp_path)}, capture_output=True, text=True, timeout=300, check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["name"] for event in events if "name" in event] == figures
    assert all(event["value"] > 0 for event in events if "name" in event)
    assert [event["began"] for event in events if "began" in event] == measured
    assert [(event["ended"], event["tasks"]) for event in events if "ended" in event] == [(name, 2) for name in measured]
