"""Tasks that return what the platform gave them, and tasks that continue where an earlier attempt stopped."""

import os
import signal

import flyte

env = flyte.TaskEnvironment(name="configured", resources=flyte.Resources(cpu="200m", memory="300Mi"))
bare = flyte.TaskEnvironment(name="bare")


@env.task
async def told(names: list[str]) -> dict[str, str]:
    return {name: os.environ.get(name, "") for name in names}


@env.task
async def told_to_a_child(names: list[str]) -> dict[str, str]:
    return await told(names)


@bare.task
async def nothing() -> str:
    return "done"


@env.task(retries=2)
async def in_steps() -> list[str]:
    """Attempt 1 saves its steps and is killed, attempt 2 fails without a checkpoint, attempt 3 continues from that of attempt 1."""
    checkpoint = flyte.ctx().checkpoint
    found = await checkpoint.load()
    steps = found.read_bytes().decode().split() if found else []
    attempt = int(os.environ["FLYTE_ATTEMPT_NUMBER"])
    if attempt == 0:
        await checkpoint.save(b"one two")
        os.kill(os.getpid(), signal.SIGKILL)
    if attempt == 1:
        raise RuntimeError("the second attempt saves nothing")
    return [*steps, f"attempt-{attempt}"]
