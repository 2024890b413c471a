"""A wide run for the fault tests. Each child appends to a ledger, so that executions can be counted from outside."""

import asyncio
import os
import uuid

import flyte

env = flyte.TaskEnvironment(name="storm", resources=flyte.Resources(cpu="250m", memory="150Mi"))


@env.task
async def child(i: int, ledger: str) -> int:
    with open(os.path.join(ledger, f"{i}.{uuid.uuid4().hex}"), "w") as out:
        out.write(os.environ["ACTION_NAME"])
    return i


@env.task
async def parent(n: int, ledger: str) -> list[int]:
    return list(await asyncio.gather(*(child(i, ledger) for i in range(n))))


@env.task
async def waits(path: str) -> int:
    open(path + ".child", "w").close()
    while not os.path.exists(path):
        await asyncio.sleep(0.2)
    return 1


@env.task
async def waits_for_file(path: str) -> int:
    with open(path + ".parent", "w") as out:
        out.write(str(os.getpid()))
    return await waits(path)
