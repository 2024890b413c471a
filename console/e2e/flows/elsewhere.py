"""Starts runs of the flows of the end-to-end tests through the SDK: jobs of a connector, tasks with several members, tasks that use a known
amount of the machine. Arguments: the server's host and port, and what to run as JSON:
[{"of": "members", "task": "talk", "inputs": {"word": "hello"}, "wait": true}]. Prints the runs' names as JSON."""

from __future__ import annotations

import contextlib
import importlib
import json
import pathlib
import sys
import time

import flyte
import flyte.remote as remote

import connection

FLOWS = pathlib.Path(__file__).resolve().parents[3] / "tests/e2e"
sys.path.insert(0, str(FLOWS))

flyte.init(
    endpoint=f"dns:///{sys.argv[1]}",
    **connection.options(),
    project="flytesnacks",
    domain="development",
    image_builder="remote",
    root_dir=FLOWS,
)


def started(wanted: dict):
    task = getattr(importlib.import_module(f"flows.{wanted['of']}"), wanted["task"])
    for _ in range(600):
        try:
            return flyte.run(task, **wanted.get("inputs", {}))
        except Exception as e:
            if "no connector serves" not in str(e):
                raise
            time.sleep(0.2)  # the server has not asked the connector yet what it serves
    raise TimeoutError("no connector serves the task")


with contextlib.suppress(Exception):  # it is there
    remote.Secret.create("batch-token", "hush", type="regular")
runs = [(wanted, started(wanted)) for wanted in json.loads(sys.argv[2])]
for wanted, run in runs:
    if wanted.get("wait"):
        run.wait(quiet=True)
print(json.dumps([run.name for _, run in runs]), flush=True)
