"""Tasks of reusable environments."""

import asyncio
import os
import time

import flyte

# Many tasks one after the other in each of two workers.
env = flyte.TaskEnvironment(name="reused", reusable=flyte.ReusePolicy(replicas=(1, 2), concurrency=1))
# One worker, which a parent would take away from its children.
narrow = flyte.TaskEnvironment(name="narrow", reusable=flyte.ReusePolicy(replicas=(0, 1), concurrency=1))

# One worker that runs two tasks at a time, in one process.
wide = flyte.TaskEnvironment(name="wide", reusable=flyte.ReusePolicy(replicas=1, concurrency=2))

driver = flyte.TaskEnvironment(name="reusing", depends_on=[env, narrow, wide])


@env.task
def parent_pid(n: int) -> str:
    """The process that this one was forked from: the worker's."""
    time.sleep(0.05)
    return f"{n} {os.getppid()}"


@driver.task
def fan_out(n: int) -> list[str]:
    return list(flyte.map(parent_pid, range(n)))


@env.task(retries=1)
def dies(folder: str) -> int:
    """Kills its own process the first time."""
    mark = os.path.join(folder, "died")
    if not os.path.exists(mark):
        open(mark, "w").close()
        os._exit(3)
    return 7


@narrow.task
async def leaf(n: int) -> int:
    return n + 1


@narrow.task
async def nested(n: int) -> int:
    """Waits for a task of its own environment."""
    return await leaf(n) + await leaf(n)


@narrow.task
async def says(word: str) -> None:
    print(word)


@wide.task
async def repeats(word: str) -> None:
    for n in range(5):
        print(f"{word} {n}", flush=True)
        await asyncio.sleep(0.1)


@driver.task
async def chorus() -> None:
    """Tasks that print, one after the other in one worker, and two at a time in another."""
    await says("first")
    await says("second")
    await asyncio.gather(repeats("left"), repeats("right"))
