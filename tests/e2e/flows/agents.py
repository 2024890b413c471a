"""A pipeline about which an agent asks."""

import asyncio

import flyte

env = flyte.TaskEnvironment(name="agents", resources=flyte.Resources(cpu="200m", memory="250Mi"))

REGIONS = {0: "emea", 1: "apac"}


@env.task
async def score(shard: int) -> str:
    print(f"scoring shard {shard}")
    return REGIONS[shard]


@env.task
async def pipeline(shards: int) -> list[str]:
    found = await asyncio.gather(*(score(shard) for shard in range(shards)), return_exceptions=True)
    for one in found:
        if isinstance(one, BaseException):
            raise one
    return list(found)


@env.task
async def release(version: str) -> str:
    approved = await flyte.new_condition.aio("approve", prompt=f"Release {version}?", data_type=bool)
    return f"{version}: {await approved.wait.aio()}"
