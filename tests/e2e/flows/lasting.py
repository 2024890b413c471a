"""A task that lasts until the test lets it end, with a line before and one after."""

import asyncio
import os

import flyte

env = flyte.TaskEnvironment(name="lasting", resources=flyte.Resources(cpu="250m", memory="300Mi"))


@env.task
async def lasting(folder: str) -> str:
    print("the line before", flush=True)
    open(os.path.join(folder, "begun"), "w").close()
    while not os.path.exists(os.path.join(folder, "go")):
        await asyncio.sleep(0.2)
    print("the line after", flush=True)
    return "lasted"
