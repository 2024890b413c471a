"""Tasks whose outputs are cached. Each execution leaves a unique mark, so that a test can tell whether the task ran."""

import asyncio
import dataclasses
import uuid

import flyte

env = flyte.TaskEnvironment(name="cached", resources=flyte.Resources(cpu="200m", memory="250Mi"))


@dataclasses.dataclass
class Point:
    x: int
    note: str = "here"


@env.task(cache="auto")
async def stamp(x: str, n: int = 1) -> str:
    return f"{x}-{n}-{uuid.uuid4().hex}"


@env.task(cache="auto")
async def shapes(point: Point, table: dict[str, float], anything: dict) -> str:
    return f"{point.x}-{len(table)}-{len(anything)}-{uuid.uuid4().hex}"


@env.task(cache=flyte.Cache("auto", ignored_inputs=("note",)))
async def ignoring(x: str, note: str) -> str:
    return f"{x}-{note}-{uuid.uuid4().hex}"


@env.task(cache=flyte.Cache("override", version_override="1"))
async def versioned(x: str) -> str:
    return f"{x}-{uuid.uuid4().hex}"


@env.task(cache="auto")
async def nothing(x: str) -> None:
    print(x, flush=True)


@env.task(cache=flyte.Cache("auto", serialize=True))
async def slow(x: str) -> str:
    await asyncio.sleep(0.5)
    return f"{x}-{uuid.uuid4().hex}"


@env.task
async def call_stamp(x: str) -> str:
    return await stamp(x)


@env.task
async def call_shapes(x: int) -> str:
    # A different order from the caller's.
    return await shapes(point=Point(x), table={"b": 2.0, "a": 1.0}, anything={"k": 2, "a": [1, {"z": 1, "y": 2}]})


@env.task
async def call_slow(x: str, n: int) -> list[str]:
    return list(await asyncio.gather(*(slow(x) for _ in range(n))))
