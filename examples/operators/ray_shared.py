"""Tasks whose attempts share one Ray cluster, which ends when none has used it for ten minutes: docs/plugins.md, Shared Ray clusters.

    pip install flyteplugins-ray
    flyte --config ... run examples/operators/ray_shared.py main --n 100
"""

import flyte
import ray
from flyteplugins.ray import RayJobConfig, WorkerNodeConfig

env = flyte.TaskEnvironment(
    name="ray_shared",
    resources=flyte.Resources(cpu=1, memory="2Gi"),
    plugin_config=RayJobConfig(worker_node_config=[WorkerNodeConfig(group_name="workers", replicas=2)]),
    reusable=flyte.ReusePolicy(replicas=1, idle_ttl=600),
)


@ray.remote
def square(n: int) -> int:
    return n * n


@env.task
def part(first: int, last: int) -> int:
    return sum(ray.get([square.remote(i) for i in range(first, last)]))


@env.task
async def main(n: int = 10) -> int:
    """Both parts and this task itself run in the same cluster."""
    half = n // 2
    return await part.aio(0, half) + await part.aio(half, n)
