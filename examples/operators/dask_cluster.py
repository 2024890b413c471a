"""Squares on a Dask cluster of the task's own. It needs the plugin dask and the Dask operator: docs/plugins.md.

    pip install flyteplugins-dask
    flyte --config ... run examples/operators/dask_cluster.py main --n 100
"""

import distributed
import flyte
from flyteplugins.dask import Dask, WorkerGroup

env = flyte.TaskEnvironment(
    name="dask_cluster",
    resources=flyte.Resources(cpu=1, memory="1Gi"),
    plugin_config=Dask(workers=WorkerGroup(number_of_workers=2)),
)


@env.task
def main(n: int = 10) -> int:
    with distributed.Client() as client:
        return sum(client.gather(client.map(lambda i: i * i, range(n))))
