"""A task with a Dask cluster of its own."""

from __future__ import annotations

import os
import pathlib

import distributed
import flyte
from flyteplugins.dask import Dask, Scheduler, WorkerGroup

from flows.gang import until

SMALL = flyte.Resources(cpu="100m", memory="1Gi")
env = flyte.TaskEnvironment(
    name="on_dask", resources=SMALL,
    plugin_config=Dask(scheduler=Scheduler(resources=SMALL), workers=WorkerGroup(number_of_workers=2, resources=SMALL)),
)


@env.task
def squares(folder: str) -> str:
    """Computes on both workers, and follows the plan of member 0."""
    place = pathlib.Path(folder)
    with distributed.Client() as client:
        client.wait_for_workers(2, timeout=600)
        for number, pid in enumerate(sorted(client.run(os.getpid).values())):
            (place / f"worker-{number}").write_text(str(pid))
        (place / "member-0").write_text(str(os.getpid()))
        print("the runner is here", flush=True)
        plan = place / "plan-0"
        match plan.read_text() if plan.exists() else "":
            case "raise":
                raise ValueError("the runner was told to fail")
            case "hold":
                until(lambda: (place / "go").exists(), "the word to go")
        client.wait_for_workers(2, timeout=600)
        return f"sum {sum(client.gather(client.map(lambda n: n * n, range(10))))}"
