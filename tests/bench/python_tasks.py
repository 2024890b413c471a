"""Trivial Python tasks through the released SDK, for the case python-demo: python_tasks.py ENDPOINT PART [NUMBER]

Prints JSON lines: {"name", "value", "unit"} for a figure, and {"began"} and {"ended", "tasks"} around each part of which the bench
measures the CPU time of the machine. PART and its NUMBER:

    alone     NUMBER tasks one at a time for each kind of start, cold and warm alternating
    fan-out   NUMBER children of one parent
    pool      the same in a reusable environment of two workers, with one slot each and with 20
    command   runs the examples with the flyte command; NUMBER is their directory
    image     builds an image with pandas and scikit-learn, twice; takes no NUMBER
"""

import asyncio
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import flyte

driver = flyte.TaskEnvironment(name="bench")
one_slot = flyte.TaskEnvironment(name="bench_one_slot", reusable=flyte.ReusePolicy(replicas=2, concurrency=1))
many_slots = flyte.TaskEnvironment(name="bench_many_slots", reusable=flyte.ReusePolicy(replicas=2, concurrency=20))

# An empty LD_AUDIT makes a start cold (docs/warm-starts.md).
STARTS = {"cold": {"LD_AUDIT": ""}, "warm": {}}


@driver.task
async def alone() -> float:
    return time.process_time()


@driver.task
async def trivial(n: int) -> int:
    return n


@one_slot.task
async def trivial_in_one_slot(n: int) -> int:
    return n


@many_slots.task
async def trivial_in_many_slots(n: int) -> int:
    return n


@driver.task
async def fan_out(n: int) -> int:
    return sum(await asyncio.gather(*map(trivial, range(n))))


@driver.task
async def fan_out_to_one_slot(n: int) -> int:
    return sum(await asyncio.gather(*map(trivial_in_one_slot, range(n))))


@driver.task
async def fan_out_to_many_slots(n: int) -> int:
    return sum(await asyncio.gather(*map(trivial_in_many_slots, range(n))))


def say(**event) -> None:
    print(json.dumps(event), flush=True)


def figure(name: str, value: float, unit: str) -> None:
    say(name=name, value=value, unit=unit)


def run(task, *arguments, env_vars: dict[str, str] | None = None):
    """Runs a task to its end: its output and the seconds from the request to the result."""
    began = time.monotonic()
    handle = flyte.with_runcontext(env_vars=env_vars or {}).run(task, *arguments)
    handle.wait(quiet=True)
    return handle.outputs()[0], time.monotonic() - began


def measure_alone(rounds: int) -> None:
    run(alone)  # the bundle is uploaded, the warm parent is there
    samples: dict[str, list[tuple[float, float]]] = {kind: [] for kind in STARTS}
    for _ in range(rounds):
        for kind, env_vars in STARTS.items():
            samples[kind].append(run(alone, env_vars=env_vars))
    for kind, taken in samples.items():
        cpu, seconds = map(statistics.median, zip(*taken))
        figure(f"{kind} task, CPU of its process until it returns", cpu * 1000, "ms")
        figure(f"{kind} task, request to result", seconds * 1000, "ms")


def measure_fan_out(name: str, task, n: int) -> None:
    run(task, 4)  # the workers and the warm parents are there
    say(began=name)
    total, seconds = run(task, n)
    say(ended=name, tasks=n)
    if total != sum(range(n)):
        raise SystemExit(f"{name}: the sum of the outputs is {total}")
    figure(f"{name}, request to result", seconds, "s")


def measure_command(endpoint: str, examples: str) -> None:
    flyte_command = pathlib.Path(sys.executable).with_name("flyte")
    config = pathlib.Path("config.yaml").absolute()
    config.write_text(json.dumps({
        "admin": {"endpoint": f"dns:///{endpoint}", "insecure": True},
        "task": {"project": "flytesnacks", "domain": "development"},
    }))
    for example in ("hello.py", "fanout.py"):
        taken = []
        for _ in range(3):  # the first uploads the bundle
            began = time.monotonic()
            command = [flyte_command, "--config", config, "run", "--follow", example, "main"]
            done = subprocess.run(command, cwd=examples, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(f"{example}: the command failed:\n{done.stdout}\n{done.stderr}")
            taken.append(time.monotonic() - began)
        figure(f"flyte run of {example}", statistics.median(taken), "s")


def measure_image() -> None:
    image = flyte.Image.from_debian_base().with_pip_packages("pandas", "scikit-learn")
    for name in ("first", "again"):
        began = time.monotonic()
        flyte.build(image)
        figure(f"image with pandas and scikit-learn, {name}", time.monotonic() - began, "s")


def main(endpoint: str, part: str, *number: str) -> None:
    flyte.init(
        endpoint=f"dns:///{endpoint}", insecure=True, project="flytesnacks", domain="development", image_builder="remote",
        root_dir=pathlib.Path(__file__).resolve().parent,
    )
    match part, number:
        case "alone", [rounds]:
            measure_alone(int(rounds))
        case "fan-out", [n]:
            measure_fan_out(f"{n} tasks", fan_out, int(n))
        case "pool", [n]:
            measure_fan_out(f"{n} tasks in a pool with one slot each", fan_out_to_one_slot, int(n))
            measure_fan_out(f"{n} tasks in a pool with 20 slots each", fan_out_to_many_slots, int(n))
        case "command", [examples]:
            measure_command(endpoint, examples)
        case "image", []:
            measure_image()
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
    sys.stdout.flush()
    os._exit(0)  # threads of the client's HTTP library sometimes abort the interpreter while it exits
