"""A wide run for the fault tests. Each child appends to a ledger, so that executions can be counted from outside."""

import asyncio
import os
import uuid

import flyte
from flyte.extras import ContainerTask

env = flyte.TaskEnvironment(name="storm", resources=flyte.Resources(cpu="250m", memory="150Mi"))


@env.task
async def child(i: int, ledger: str) -> int:
    with open(os.path.join(ledger, f"{i}.{uuid.uuid4().hex}"), "w") as out:
        out.write(os.environ["ACTION_NAME"])
    return i


@env.task
async def parent(n: int, ledger: str) -> list[int]:
    return list(await asyncio.gather(*(child(i, ledger) for i in range(n))))


# The same without an interpreter, which is most of what a small task costs.
container = ContainerTask(
    name="storm_container", image=flyte.Image.from_base("alpine:3.20"), resources=flyte.Resources(cpu="250m", memory="150Mi"),
    command=["/bin/sh", "-ec",
             'touch "$(cat /var/inputs/ledger)/$(cat /var/inputs/i).$(cat /proc/sys/kernel/random/uuid)"; cp /var/inputs/i /var/outputs/i'],
    inputs={"i": int, "ledger": str}, outputs={"i": int},
)
mixed = flyte.TaskEnvironment(
    name="storm_mixed", resources=flyte.Resources(cpu="250m", memory="150Mi"),
    depends_on=[env, flyte.TaskEnvironment.from_task("storm_containers", container)],
)


@mixed.task
async def mixed_parent(n: int, ledger: str) -> list[int]:
    """One child in five is Python."""

    async def one(i: int) -> int:
        return await (child(i, ledger) if i % 5 == 0 else container(i=i, ledger=ledger))

    return list(await asyncio.gather(*(one(i) for i in range(n))))


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
