"""Starts runs through the SDK. Arguments: the server's host and port, a list of what to run as JSON:
[{"task": "squares", "inputs": {"n": 4}, "name": "optional", "queue": "optional", "wait": true}], and versions as which the tasks are
deployed first; with the last of them, the trigger and the artifact of triggered.py are there, too.
Prints the runs' names as JSON."""

from __future__ import annotations

import importlib
import json
import pathlib
import sys

import flyte

import connection
import shown
import triggered

flyte.init(
    endpoint=f"dns:///{sys.argv[1]}",
    **connection.options(),
    project="flytesnacks",
    domain="development",
    image_builder="remote",
    root_dir=pathlib.Path(__file__).parent,
)
for version in sys.argv[3:]:
    flyte.deploy(shown.env, version=version)
if sys.argv[3:]:
    triggered.prepare(sys.argv[-1])


def task_of(name: str) -> object:
    """A task by its name. What previews need is only loaded when it is asked for: it is much."""
    return getattr(shown, name, None) or getattr(importlib.import_module("viewed"), name)


runs = []
for wanted in json.loads(sys.argv[2]):
    context = flyte.with_runcontext(name=wanted.get("name"), labels=wanted.get("labels"), queue=wanted.get("queue"))
    runs.append((wanted, context.run(task_of(wanted["task"]), **wanted.get("inputs", {}))))
for wanted, run in runs:
    if wanted.get("wait"):
        run.wait(quiet=True)
print(json.dumps([run.name for _, run in runs]), flush=True)
