"""Flat and nested tasks, fan-out, groups, equal calls, no outputs."""

import asyncio

import flyte

env = flyte.TaskEnvironment(name="basic", resources=flyte.Resources(cpu="200m", memory="250Mi"))


@env.task
async def add(x: int, y: int = 1) -> int:
    return x + y


@env.task
async def hello(name: str) -> str:
    print(f"greeting {name}", flush=True)
    return f"hello {name}"


@env.task
async def nothing(x: int) -> None:
    print(f"nothing {x}", flush=True)


@env.task
async def nested(depth: int) -> int:
    return 0 if depth == 0 else 1 + await nested(depth - 1)


@env.task
async def gathered(n: int) -> list[int]:
    return list(await asyncio.gather(*(add(i, 10) for i in range(n))))


@env.task
def mapped(n: int, concurrency: int) -> list[int]:
    return list(flyte.map(add, list(range(n)), concurrency=concurrency))


@env.task
async def score_customers(shard: int, region: str, model: str = "large") -> int:
    return {"emea": 1, "apac": 2, "amer": 3}[region] * shard


@env.task
def churn(shards: int) -> int:
    """Scores shards, of which some are of a region that the table does not have. Returns how many failed."""
    regions = ["latam" if shard in (7, 23) else ("emea", "apac", "amer")[shard % 3] for shard in range(shards)]
    scores = list(flyte.map(score_customers, list(range(shards)), regions, return_exceptions=True))
    return sum(isinstance(score, Exception) for score in scores)


@env.task
async def grouped() -> int:
    with flyte.group("first"):
        a = await add(1)
    with flyte.group("second"):
        b = await add(2)
    return a + b


@env.task
async def equal_calls(n: int) -> list[int]:
    return list(await asyncio.gather(*(add(7, 7) for _ in range(n))))


@env.task
async def void_children(n: int) -> int:
    await asyncio.gather(*(nothing(i) for i in range(n)))
    return n


@env.task
async def slow(seconds: float) -> float:
    await asyncio.sleep(seconds)
    return seconds


@env.task
async def slow_many(n: int, seconds: float) -> int:
    return len(await asyncio.gather(*(slow(seconds + i / 1000) for i in range(n))))
