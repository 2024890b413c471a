"""Tasks that say on which cluster they run. Each controller gives its name to its pods."""

import asyncio
import os
import pathlib

import flyte
from flyte.io import File

env = flyte.TaskEnvironment(name="placed", resources=flyte.Resources(cpu="100m", memory="256Mi"))


@env.task
async def where() -> str:
    return os.environ["CLUSTER"]


@env.task
async def family(n: int) -> list[str]:
    return [os.environ["CLUSTER"], *await asyncio.gather(*(where() for _ in range(n)))]


@env.task
async def waits(folder: str) -> str:
    """Notes its cluster and its process in a file, and waits for a file named go or go-CLUSTER."""
    cluster, here = os.environ["CLUSTER"], pathlib.Path(folder)
    with (here / "begun").open("a") as notes:
        notes.write(f"{cluster} {os.getpid()}\n")
    print(f"waiting on {cluster}", flush=True)
    while not (here / "go").exists() and not (here / f"go-{cluster}").exists():
        await asyncio.sleep(0.2)
    print(f"going on {cluster}", flush=True)
    with (here / "ended").open("a") as notes:
        notes.write(f"{cluster} {os.getpid()}\n")
    return cluster


@env.task
async def reads(data: File) -> list[str]:
    async with data.open("rb") as stream:
        return [os.environ["CLUSTER"], bytes(await stream.read()).decode()]


@env.task
async def ended(pid: int) -> bool:
    """Whether a process has ended."""
    return not os.path.exists(f"/proc/{pid}")
