"""Tasks of two tenants of one demo: what one of them does to the processes that serve both."""

import asyncio
import glob
import importlib
import os
import re

import flyte

env = flyte.TaskEnvironment(name="intruding", resources=flyte.Resources(cpu="100m", memory="500Mi"))
pool = flyte.TaskEnvironment(
    name="intruding-pool", resources=flyte.Resources(cpu="100m", memory="500Mi"), reusable=flyte.ReusePolicy(replicas=1, concurrency=1))


@env.task(retries=0)
async def holds(mebibytes: int) -> int:
    """Holds memory long enough for some looks, and returns what the process then holds in MiB."""
    data = b"x" * (mebibytes << 20)
    await asyncio.sleep(1.5)
    with open("/proc/self/status") as file:
        anonymous = next(int(line.split()[1]) for line in file if line.startswith("RssAnon:"))
    return anonymous // 1024 + (len(data) - (mebibytes << 20))


@env.task(retries=0)
def imports(names: str) -> int:
    return len([importlib.import_module(name) for name in names.split()])


@pool.task(retries=0)
async def waits(folder: str) -> str:
    """Keeps its worker until the test says so."""
    with open(os.path.join(folder, "started"), "w"):
        pass
    while not os.path.exists(os.path.join(folder, "go")):
        await asyncio.sleep(0.1)
    return "done"


@pool.task(retries=0)
def reads_tokens() -> str:
    """How many workers of this program the task sees, with the tokens that it finds in their environments."""
    program, workers, found = os.readlink(f"/proc/{worker()}/exe"), 0, []
    for path in glob.glob("/proc/[0-9]*"):
        try:
            if os.readlink(f"{path}/exe") != program or command(path) != b"worker":
                continue
            workers += 1
            with open(f"{path}/environ", "rb") as file:
                found += [token.decode() for token in re.findall(rb"FLYTE_WORKER_TOKEN=([^\0]+)", file.read())]
        except OSError:
            continue
    return f"{workers} {found}"


def worker() -> int:
    """The process of this task's worker, which is above it."""
    pid = os.getpid()
    while command(f"/proc/{pid}") != b"worker":
        with open(f"/proc/{pid}/stat") as file:
            pid = int(file.read().rsplit(")", 1)[1].split()[1])
    return pid


def command(path: str) -> bytes:
    """The subcommand of a process."""
    with open(f"{path}/cmdline", "rb") as file:
        return b"".join(file.read().split(b"\0")[1:2])
