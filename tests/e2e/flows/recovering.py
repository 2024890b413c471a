"""Runs that fail until a dependency exists, and that record which actions really ran."""

import asyncio
import os

import flyte
import flyte.errors

env = flyte.TaskEnvironment(name="recovering", resources=flyte.Resources(cpu="200m", memory="250Mi"))


def note(folder: str, line: str) -> None:
    with open(os.path.join(folder, "diary"), "a") as diary:
        diary.write(line + "\n")


@env.task
async def part(folder: str, n: int) -> int:
    note(folder, f"part {n}")
    return n * 10


@env.task
async def needs(folder: str, name: str) -> int:
    note(folder, f"needs {name}")
    if not os.path.exists(os.path.join(folder, name)):
        raise FileNotFoundError(name)
    return 1000


@env.task
async def middle(folder: str) -> int:
    note(folder, "middle")
    return await part(folder, 7)


@flyte.trace
async def look(folder: str, n: int) -> int:
    note(folder, f"look {n}")
    return n


@flyte.trace
async def stumbles(folder: str) -> int:
    note(folder, "stumbles")
    raise ValueError("it may succeed next time")


@flyte.trace
async def refuses(folder: str) -> int:
    note(folder, "refuses")
    raise flyte.errors.NonRecoverableError("it never will")


@env.task
async def whole(folder: str) -> int:
    note(folder, "whole")
    total = await look(folder, 1)
    approved = await flyte.new_condition.aio("approve", prompt="Go on?", data_type=int)
    total += sum(await asyncio.gather(*(part(folder, n) for n in range(2)), middle(folder)))
    total += await approved.wait.aio()
    return total + await needs(folder, "ready")


@env.task(retries=1)
async def replays(folder: str) -> str:
    note(folder, "replays")
    first = await look(folder, 5)
    ends = []
    for step in (stumbles, refuses):
        try:
            await step(folder)
        except Exception as error:
            ends.append(type(error).__name__)
    if not os.path.exists(os.path.join(folder, "second")):
        open(os.path.join(folder, "second"), "w").close()
        raise RuntimeError("once more")
    return f"{first} {' '.join(ends)}"
