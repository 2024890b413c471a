"""Tasks that name a queue of their own."""

import asyncio

import flyte

narrow = flyte.TaskEnvironment(name="narrow", queue="narrow", resources=flyte.Resources(cpu="200m", memory="250Mi"))
env = flyte.TaskEnvironment(name="queued", depends_on=[narrow], resources=flyte.Resources(cpu="200m", memory="250Mi"))


@narrow.task
async def one_at_a_time(seconds: float) -> float:
    await asyncio.sleep(seconds)
    return seconds


@env.task
async def into_another_queue(n: int, seconds: float) -> int:
    return len(await asyncio.gather(*(one_at_a_time(seconds + i / 1000) for i in range(n))))
