"""Deploys apps through the SDK. Arguments: the server's host and port, and a list of apps as JSON:
[{"name": "hello", "command": ["python", "-m", "http.server", "8080"], "env": {"MODE": "fast"}, "min": 1, "model": "RUN", "wait": true}].
Those with "model" have the file that the run returned as an input. Those with "wait" are active when it ends."""

from __future__ import annotations

import json
import pathlib
import sys

import flyte
import flyte.app

import connection

flyte.init(
    endpoint=f"dns:///{sys.argv[1]}",
    **connection.options(),
    project="flytesnacks",
    domain="development",
    image_builder="remote",
    root_dir=pathlib.Path(__file__).parent,
)
for wanted in json.loads(sys.argv[2]):
    env = flyte.app.AppEnvironment(
        name=wanted["name"],
        command=wanted["command"],  # not args: replicas would load this file, with other arguments
        port=wanted.get("port", 8080),
        env_vars=wanted.get("env"),
        links=[flyte.app.Link(path="/docs", title="Documentation", is_relative=True)],
        scaling=flyte.app.Scaling(replicas=(wanted.get("min", 0), max(1, wanted.get("min", 0)))),
        resources=flyte.Resources(cpu="100m", memory="100Mi"),
    )
    if model := wanted.get("model"):
        # Set after construction: the constructor rejects parameters together with a command.
        env.parameters = [flyte.app.Parameter(name="model", value=flyte.app.RunOutput(type="file", run_name=model))]
    if wanted.get("wait"):
        flyte.serve(env)
    else:
        flyte.deploy(env)
