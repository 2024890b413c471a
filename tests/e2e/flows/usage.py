"""Tasks that use a known amount of the machine, for some seconds."""

import time

import flyte

env = flyte.TaskEnvironment(name="usage", resources=flyte.Resources(cpu="500m", memory=("128Mi", "512Mi")))
small = flyte.TaskEnvironment(name="usage_small", resources=flyte.Resources(cpu="500m", memory=("128Mi", "384Mi")))


@env.task
async def busy(seconds: int, mebibytes: int) -> float:
    """Holds memory, keeps a core busy for some seconds of processor time, and returns what it has spent."""
    held = bytearray(mebibytes << 20)
    for page in range(0, len(held), 4096):
        held[page] = 1
    begun = time.process_time()
    while time.process_time() < begun + seconds:
        pass
    time.sleep(5)  # so that it is measured once more
    return time.process_time()


@small.task
async def hungry(seconds: int) -> int:
    """Holds memory for some seconds, and then more than it may."""
    held = [b"x" * (64 << 20)]
    time.sleep(seconds)
    while len(held) < 100:
        held.append(b"x" * (32 << 20))
    return len(held)


@env.task
async def brief(seconds: int, mebibytes: int) -> float:
    """Holds memory and keeps a core busy half of the time, for some seconds in all, and returns the processor time that it has spent."""
    held = bytearray(mebibytes << 20)
    for page in range(0, len(held), 4096):
        held[page] = 1
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begun = time.monotonic()
        while time.monotonic() < begun + 0.05:
            pass
        time.sleep(0.05)
    return time.process_time()
