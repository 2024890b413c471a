"""A task that prints a line and waits."""

import asyncio

import flyte

env = flyte.TaskEnvironment(name="logs", resources=flyte.Resources(cpu="200m", memory="250Mi"))


@env.task(retries=1)
async def waiting(mark: str) -> None:
    print(f"waiting {mark}", flush=True)
    await asyncio.sleep(300)


@env.task
async def letters(count: int) -> None:
    """Prints one long line."""
    print("é" * count, flush=True)
