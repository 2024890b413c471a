"""Tasks for a real node, small enough for one with two CPUs. Nothing here shares files with the test."""

import asyncio

import flyte
import flyte.errors

SMALL = flyte.Resources(cpu=("50m", "2"), memory="300Mi")

pods = flyte.TaskEnvironment(name="node_pods", resources=SMALL)
pool = flyte.TaskEnvironment(name="node_pool", resources=flyte.Resources(cpu=("200m", "2"), memory="600Mi"), reusable=flyte.ReusePolicy(replicas=2, concurrency=10))
greedy = flyte.TaskEnvironment(
    name="node_greedy", resources=flyte.Resources(cpu=("100m", "1"), memory=("300Mi", "400Mi")), reusable=flyte.ReusePolicy(replicas=(0, 1), concurrency=1),
)
absent = flyte.TaskEnvironment(name="node_absent", resources=SMALL, image=flyte.Image.from_base("docker.io/library/no-such-image:1"))
parents = flyte.TaskEnvironment(name="node_parents", resources=SMALL, depends_on=[pods, pool, greedy])


@pods.task
async def square(n: int) -> int:
    print(f"squared {n}", flush=True)
    return n * n


@pods.task
async def naps(seconds: float) -> float:
    print("napping", flush=True)
    await asyncio.sleep(seconds)
    return seconds


@pool.task
async def double(n: int) -> int:
    await asyncio.sleep(0.2)
    return 2 * n


@greedy.task
async def fills(megabytes: int) -> int:
    block = bytearray(megabytes << 20)
    for i in range(0, len(block), 4096):
        block[i] = 1
    await asyncio.sleep(60)
    return len(block)


@parents.task
async def rescues(megabytes: int) -> str:
    """Handles that its child used too much memory."""
    try:
        await fills(megabytes)
    except flyte.errors.OOMError as error:
        return f"{error.code}: {error}"
    return "nothing was raised"


@parents.task
async def squares(n: int) -> list[int]:
    return list(await asyncio.gather(*(square(i) for i in range(n))))


@parents.task
async def doubles(n: int) -> list[int]:
    return list(await asyncio.gather(*(double(i) for i in range(n))))


@absent.task
async def never() -> None:
    raise AssertionError("a task without its image has started")
