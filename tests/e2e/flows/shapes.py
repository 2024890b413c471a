"""The shapes of the public benchmark of Flyte backends. Their leaves sleep without a pod, so only the orchestration is measured."""

import asyncio
from datetime import timedelta

import flyte
from flyte.extras import Sleep

leaves = flyte.TaskEnvironment(name="leaves", plugin_config=Sleep())
parents = flyte.TaskEnvironment(
    name="shapes", resources=flyte.Resources(cpu="200m", memory="500Mi"), depends_on=[leaves],
)


@leaves.task
async def nap(duration: timedelta) -> None:
    raise AssertionError("the runs service sleeps; nothing calls this")


@parents.task
async def fanout(n: int) -> int:
    await asyncio.gather(*(nap(timedelta(0)) for _ in range(n)))
    return n


@parents.task
async def chain(n: int) -> int:
    for _ in range(n):
        await nap(timedelta(0))
    return n


@parents.task
async def swarm(k: int, n: int) -> int:
    return sum(await asyncio.gather(*(fanout(n) for _ in range(k))))
