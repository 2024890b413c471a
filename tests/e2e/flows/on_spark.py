"""A task with a Spark cluster of its own."""

from __future__ import annotations

import os
import pathlib
import sys

import flyte
import flyte._bin.runtime
from flyteplugins.spark import Spark

from flows.gang import until

# A busy machine is slow, not lost.
PATIENCE = {"spark.network.timeout": "600s", "spark.kubernetes.allocation.executor.timeout": "600s"}
# Drivers that share a machine would try each other's ports.
SHARED = {"spark.ui.enabled": "false"}
# Where the images of the SDK have them.
PATHS = {"applications_path": f"local://{flyte._bin.runtime.__file__}", "executor_path": sys.executable}
env = flyte.TaskEnvironment(
    name="on_spark", resources=flyte.Resources(cpu="100m", memory="2Gi"),
    plugin_config=Spark(
        spark_conf={
            "spark.executor.instances": "2", "spark.executor.cores": "1", "spark.executor.memory": "512m", "spark.driver.memory": "512m",
            "spark.kubernetes.driver.request.cores": "100m", "spark.kubernetes.executor.request.cores": "100m", **SHARED, **PATIENCE,
        },
        **PATHS,
    ),
)


def on_one_machine(task):
    """The task in processes of this machine, which is busy."""
    task.plugin_config.spark_conf |= SHARED | PATIENCE
    for name, path in PATHS.items():
        setattr(task.plugin_config, name, path)
    return task


def executor_of_this(_: int) -> int:
    """The process of the executor: the parent of the parent of its Python workers."""
    print("an executor is here", file=sys.stderr, flush=True)
    daemon = pathlib.Path(f"/proc/{os.getppid()}/stat").read_text()
    return int(daemon.rsplit(")", 1)[1].split()[1])


@env.task
async def squares(folder: str) -> str:
    """Computes on both executors, and follows the plan of member 0."""
    place, spark = pathlib.Path(folder), flyte.ctx().data["spark_session"].sparkContext

    def executors() -> list[int]:
        return sorted(set(spark.parallelize(range(8), 8).map(executor_of_this).collect()))

    until(lambda: len(executors()) == 2, "two executors")
    for number, pid in enumerate(executors()):
        (place / f"worker-{number}").write_text(str(pid))
    (place / "member-0").write_text(str(os.getpid()))
    print("the driver is here", flush=True)
    plan = place / "plan-0"
    match plan.read_text() if plan.exists() else "":
        case "raise":
            raise ValueError("the driver was told to fail")
        case "hold":
            until(lambda: (place / "go").exists(), "the word to go")
    until(lambda: len(executors()) == 2, "two executors")
    return f"sum {spark.parallelize(range(10), 2).map(lambda n: n * n).sum()}"
