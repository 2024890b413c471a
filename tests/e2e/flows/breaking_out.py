"""A task whose image runs commands that the test chooses."""

import json
import os

import flyte

env = flyte.TaskEnvironment(
    "breaking-out", resources=flyte.Resources(cpu="100m", memory="200Mi"),
    image=flyte.Image.from_debian_base().with_commands(json.loads(os.environ.get("BREAKING_OUT", '["true"]'))),
)


@env.task
def works() -> str:
    return "works"
