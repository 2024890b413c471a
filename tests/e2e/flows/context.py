"""What reaches a task from its run: environment, labels, custom context, overrides, reports, traces, runs of runs."""

import os

import flyte
import flyte.report

env = flyte.TaskEnvironment(
    name="context", resources=flyte.Resources(cpu="200m", memory="250Mi"), env_vars={"FROM_ENVIRONMENT": "yes"}
)


@env.task
async def read_env(names: list[str]) -> dict[str, str]:
    return {name: os.environ.get(name, "") for name in names}


@env.task
async def env_of_child(names: list[str]) -> dict[str, str]:
    return await read_env(names)


@env.task
async def read_context() -> dict[str, str]:
    return dict(flyte.get_custom_context())


@env.task
async def context_of_child() -> dict[str, str]:
    with flyte.custom_context(step="two"):
        return await read_context()


@env.task
async def overridden() -> dict[str, str]:
    child = read_env.override(resources=flyte.Resources(cpu="300m", memory="300Mi"), env_vars={"OVERRIDDEN": "indeed"})
    return await child(["OVERRIDDEN"])


@env.task(report=True)
async def reporting(text: str) -> str:
    await flyte.report.log.aio(f"<h1>{text}</h1>", do_flush=True)
    return text


@flyte.trace
async def doubled(x: int) -> int:
    return 2 * x


@env.task
async def traced(n: int) -> int:
    total = 0
    for i in range(n):
        total += await doubled(i)
    return total


@env.task
async def inner(x: int) -> int:
    return x * 3


@env.task
async def runs_a_run(x: int) -> str:
    run = await flyte.run.aio(inner, x)
    return run.name


@env.task
async def prints(lines: int) -> int:
    for i in range(lines):
        print(f"line {i:05d}", flush=True)
    return lines
