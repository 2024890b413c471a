"""Tasks that tests run in their own process, tracked by the server."""

import asyncio
import pathlib

import flyte
import flyte.report

env = flyte.TaskEnvironment(name="local")


@flyte.trace
async def step(n: int) -> int:
    return n + 1


@env.task
async def square(n: int) -> int:
    return await step(n * n - 1)


@env.task(report=True)
async def squares(n: int) -> int:
    with flyte.group("all"):
        total = sum([await square(i) for i in range(n)])
    await flyte.report.log.aio(f"<h1>the sum is {total}</h1>", do_flush=True)
    return total


attempts = 0


@env.task(retries=2)
async def flaky() -> str:
    global attempts
    attempts += 1
    if attempts < 2:
        raise ValueError("not yet")
    return "done"


@env.task
async def retried() -> str:
    return await flaky()


@env.task
async def broken() -> str:
    raise ValueError("on purpose")


@env.task(report=True)
async def watched(gate: str) -> str:
    """Flushes a report, then another one, and waits for a file before each step."""
    for number in range(3):
        await flyte.report.replace.aio(f"<p>part {number}</p>", do_flush=True)
        while not pathlib.Path(f"{gate}.{number}").exists():
            await asyncio.sleep(0.1)
    return "opened"
