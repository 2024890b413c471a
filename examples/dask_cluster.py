"""A task on a cluster of Dask: `flyte-binary demo --with dask`, then `flyte run examples/dask_cluster.py main --number 100`.

Requires `flyteplugins-dask` and `dask[distributed]` in the demo's Python environment and in yours.
"""

import flyte
from distributed import Client
from flyteplugins.dask import Dask, Scheduler, WorkerGroup

env = flyte.TaskEnvironment(
    name="dask_cluster",
    plugin_config=Dask(
        scheduler=Scheduler(resources=flyte.Resources(cpu="250m", memory="500Mi")),
        workers=WorkerGroup(number_of_workers=2, resources=flyte.Resources(cpu="500m", memory="1Gi")),
    ),
    resources=flyte.Resources(cpu="250m", memory="500Mi"),
)


def square(number: int) -> int:
    return number**2


@env.task
async def main(number: int = 100) -> int:
    """The sum of squares, which the workers compute."""
    with Client() as client:
        return sum(client.gather(client.map(square, range(number))))
