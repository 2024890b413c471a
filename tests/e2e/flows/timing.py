"""Tasks that time out, sleeps without a pod, and conditions that people answer."""

import asyncio
from datetime import timedelta

import flyte
import flyte.errors
from flyte.extras import Sleep

env = flyte.TaskEnvironment(name="timing", resources=flyte.Resources(cpu="200m", memory="250Mi"))
sleeping = flyte.TaskEnvironment(name="sleeping", plugin_config=Sleep())
parents = flyte.TaskEnvironment(
    name="timing_parents", resources=flyte.Resources(cpu="200m", memory="250Mi"), depends_on=[env, sleeping],
)


@env.task(timeout=flyte.Timeout(max_runtime=timedelta(seconds=2)), retries=1)
async def runs_too_long() -> int:
    await asyncio.sleep(60)
    return 1


@env.task(timeout=flyte.Timeout(deadline=timedelta(seconds=4)), retries=3)
async def misses_its_deadline() -> int:
    await asyncio.sleep(600)
    return 1


@env.task(timeout=flyte.Timeout(max_queued_time=timedelta(seconds=2)), retries=3)
async def never_starts() -> int:
    return 1


@parents.task
async def sees_each_timeout() -> list[str]:
    async def name_of(coroutine) -> str:
        try:
            await coroutine
        except flyte.errors.TaskTimeoutError as error:
            return f"{type(error).__name__}: {error}"
        return "no timeout"

    huge = never_starts.override(resources=flyte.Resources(cpu="100", memory="900Gi"))
    return list(await asyncio.gather(name_of(runs_too_long()), name_of(misses_its_deadline()), name_of(huge())))


@sleeping.task
async def nap(duration: timedelta) -> None:
    raise AssertionError("the runs service sleeps; nothing calls this")


@parents.task
async def naps(n: int, seconds: float) -> int:
    await asyncio.gather(*(nap(timedelta(seconds=seconds)) for _ in range(n)))
    for _ in range(3):
        await nap(timedelta(0))
    return n


@parents.task
async def asks_with_a_webhook(url: str) -> str:
    condition = await flyte.new_condition.aio(
        "approve", prompt="# May I?", prompt_type="markdown", description="a test asks", data_type=bool, timeout=60,
        webhook=flyte.ConditionWebhook(url=url, payload={"answer_at": "{callback_uri}", "nested": {"list": ["see {callback_uri}"]}}),
    )
    return f"answered {await condition.wait.aio()}"


@parents.task
async def asks_a_person() -> str:
    condition = await flyte.new_condition.aio("approve", prompt="May I?", data_type=bool, timeout=120)
    return f"answered {await condition.wait.aio()}"


@parents.task
async def asks_in_vain() -> str:
    condition = await flyte.new_condition.aio("silence", prompt="Anybody?", data_type=str, timeout=2)
    try:
        return await condition.wait.aio()
    except flyte.errors.ConditionTimedoutError as error:
        return f"nobody: {error}"


@parents.task
async def asks_for_every_type() -> list[str]:
    conditions = [
        await flyte.new_condition.aio(f"a_{kind.__name__}", prompt=kind.__name__, data_type=kind) for kind in (bool, int, float, str)
    ]
    values = [await condition.wait.aio() for condition in conditions]
    return [f"{type(value).__name__} {value}" for value in values]
