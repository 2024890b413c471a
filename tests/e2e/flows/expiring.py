"""A parent with many children, which stops halfway until the test lets it continue. The children are cheap: most of what a small task
costs is its interpreter."""

import asyncio
import os

import flyte
from flyte.extras import ContainerTask

item = ContainerTask(
    name="expiring_item", image=flyte.Image.from_base("alpine:3.20"), resources=flyte.Resources(cpu="100m", memory="100Mi"),
    command=["/bin/sh", "-ec", "cp /var/inputs/i /var/outputs/i"], inputs={"i": int}, outputs={"i": int},
)
env = flyte.TaskEnvironment(
    name="expiring", resources=flyte.Resources(cpu="250m", memory="300Mi"), depends_on=[flyte.TaskEnvironment.from_task("expiring_items", item)],
)


@env.task
async def many(n: int, folder: str) -> int:
    async def one(i: int) -> int:
        return await item(i=i)

    done = sum(await asyncio.gather(*(one(i) for i in range(n // 2))))
    open(os.path.join(folder, "half"), "w").close()
    while not os.path.exists(os.path.join(folder, "go")):
        await asyncio.sleep(0.2)
    return done + sum(await asyncio.gather(*(one(i) for i in range(n // 2, n))))
