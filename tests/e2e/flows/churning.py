"""A pipeline over shards, of which some fail: twice for a region that is missing in the data, then with the region added."""

import asyncio

import flyte

env = flyte.TaskEnvironment(name="churning", resources=flyte.Resources(cpu="50m", memory="150Mi"))

REGIONS = ["emea", "apac", "amer", "latam"]


def weight(region: str, known: list[str]) -> int:
    weights = {name: len(name) for name in known}
    return weights[region]


@env.task
async def score(shard: int, region: str, known: list[str]) -> int:
    return weight(region, known) * shard


@env.task
async def nightly(shards: int, known: list[str]) -> int:
    scored = await asyncio.gather(*(score(n, REGIONS[n % 4], known) for n in range(shards)), return_exceptions=True)
    for one in scored:
        if isinstance(one, BaseException):
            raise one
    return sum(scored)


@env.task
async def weekly(shards: int, known: list[str]) -> int:
    return await nightly(shards, known)
