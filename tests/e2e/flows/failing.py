"""Tasks that fail, and parents that handle it."""

import asyncio
import os
import signal

import flyte
import flyte.errors

env = flyte.TaskEnvironment(name="failing", resources=flyte.Resources(cpu="200m", memory="250Mi"))


@env.task
async def boom(message: str) -> int:
    raise ValueError(message)


@env.task
async def catches() -> str:
    try:
        await boom("caught by the parent")
    except flyte.errors.RuntimeUserError as error:
        return f"{error.code}: {error}"
    return "nothing was raised"


@env.task
async def passes_on() -> int:
    return await boom("not caught")


@env.task
async def killed() -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    await asyncio.sleep(60)
    return 1


@env.task(retries=2)
async def flaky(marker: str) -> int:
    """Fails until it has left two marks."""
    marks = len(os.listdir(marker)) if os.path.isdir(marker) else 0
    os.makedirs(marker, exist_ok=True)
    if marks < 2:
        open(os.path.join(marker, str(marks)), "w").close()
        raise RuntimeError(f"attempt with {marks} marks")
    return marks


@env.task
async def hog(megabytes: int) -> int:
    block = bytearray(megabytes * 1024 * 1024)
    for i in range(0, len(block), 4096):
        block[i] = 1
    await asyncio.sleep(5)
    return len(block)


def publish(file: str, pid: int) -> None:
    """Writes a file that is complete as soon as it can be seen."""
    with open(file + ".new", "w") as out:
        out.write(str(pid))
    os.replace(file + ".new", file)


@env.task
async def sleeper(pid_file: str) -> int:
    publish(pid_file, os.getpid())
    child = await asyncio.create_subprocess_exec("sleep", "600")
    publish(pid_file + ".child", child.pid)
    await asyncio.sleep(600)
    return 0


@env.task
async def holds_sleepers(folder: str, n: int) -> int:
    return sum(await asyncio.gather(*(sleeper(os.path.join(folder, f"pid{i}")) for i in range(n))))


@env.task
async def cancels(folder: str) -> str:
    child = asyncio.create_task(sleeper(os.path.join(folder, "pid")))
    while not os.path.exists(os.path.join(folder, "pid.child")):
        await asyncio.sleep(0.1)
    child.cancel()
    try:
        await child
    except asyncio.CancelledError:
        return "cancelled"
    return "still there"
