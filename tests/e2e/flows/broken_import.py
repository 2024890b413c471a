"""A module whose import works where it is launched but not where it runs."""

import os

import flyte

env = flyte.TaskEnvironment(name="broken", resources=flyte.Resources(cpu="200m", memory="250Mi"))

if os.environ.get("ACTION_NAME"):
    import a_module_that_nobody_has  # noqa: F401


@env.task
async def unreachable() -> int:
    return 1
