"""A task of a type that takes a plugin of the backend, as plugins of the SDK define it."""

from dataclasses import dataclass

import flyte
from flyte.extend import AsyncFunctionTaskTemplate, TaskPluginRegistry


@dataclass
class Workers:
    count: int


@dataclass(kw_only=True)
class SparkTask(AsyncFunctionTaskTemplate):
    plugin_config: Workers
    task_type: str = "spark"


TaskPluginRegistry.register(Workers, SparkTask)

cluster = flyte.TaskEnvironment(name="cluster", plugin_config=Workers(8))
env = flyte.TaskEnvironment(name="distributed", depends_on=[cluster])


@cluster.task
async def trains() -> str:
    return "alone"


@env.task
async def starts_trains() -> str:
    try:
        return await trains()
    except Exception as error:
        return f"refused: {error}"


@env.task
async def notifies() -> str:
    return "done"
