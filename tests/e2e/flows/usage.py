"""Tasks that use a known amount of the machine, for some seconds."""

import time

import flyte

env = flyte.TaskEnvironment(name="usage", resources=flyte.Resources(cpu="500m", memory=("128Mi", "512Mi")))
small = flyte.TaskEnvironment(name="usage_small", resources=flyte.Resources(cpu="500m", memory=("128Mi", "384Mi")))


@env.task
async def busy(seconds: int, mebibytes: int) -> int:
    """Holds memory and keeps one core busy."""
    held = bytearray(mebibytes << 20)
    for page in range(0, len(held), 4096):
        held[page] = 1
    end = time.monotonic() + seconds
    turns = 0
    while time.monotonic() < end:
        turns += 1
    return len(held) + turns * 0


@small.task
async def hungry(seconds: int) -> int:
    """Holds memory for some seconds, and then more than it may."""
    held = [b"x" * (64 << 20)]
    time.sleep(seconds)
    while len(held) < 100:
        held.append(b"x" * (32 << 20))
    return len(held)
