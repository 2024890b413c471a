"""Measures what a trivial task costs after a cold and a warm start, alternating in one demo.

    .cache/e2e-python/bin/python scripts/warm_figures.py localhost:8088 20

Prints the CPU time of the task's process, from its start until its function returns, and the time from the request of the run
to its result, each as median and range. An empty LD_AUDIT makes a start cold (docs/warm-starts.md).
"""

import os
import pathlib
import statistics
import sys
import time

import flyte

env = flyte.TaskEnvironment(name="warm_figures")


@env.task
async def trivial() -> float:
    return time.process_time()


@env.task
async def parent() -> float:
    return await trivial() + time.process_time()


def measure(task, env_vars: dict[str, str]) -> tuple[float, float]:
    began = time.monotonic()
    handle = flyte.with_runcontext(env_vars=env_vars).run(task)
    handle.wait(quiet=True)
    return handle.outputs()[0], time.monotonic() - began


def main(endpoint: str, rounds: int) -> None:
    flyte.init(
        endpoint=f"dns:///{endpoint}", insecure=True, project="flytesnacks", domain="development", image_builder="remote",
        root_dir=pathlib.Path(__file__).resolve().parent,
    )
    for name, task in (("one task", trivial), ("a task and its child", parent)):
        measure(task, {})  # the bundle is uploaded, the parent is there
        figures: dict[str, list[tuple[float, float]]] = {"cold": [], "warm": []}
        for _ in range(rounds):
            figures["cold"].append(measure(task, {"LD_AUDIT": ""}))
            figures["warm"].append(measure(task, {}))
        for kind, all_of in figures.items():
            for what, values in zip(("CPU", "request to result"), zip(*all_of)):
                print(f"{name}, {kind}: {what} {statistics.median(values) * 1000:.0f} ms ({min(values) * 1000:.0f}-{max(values) * 1000:.0f})")
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10)
