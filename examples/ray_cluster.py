"""A task on a cluster of Ray: `flyte-binary demo --with ray`, then `flyte run examples/ray_cluster.py main --samples 1000000`.

Requires `flyteplugins-ray` and `ray[default]` in the demo's Python environment and in yours.
"""

import random

import flyte
import ray
from flyteplugins.ray import HeadNodeConfig, RayJobConfig, WorkerNodeConfig

env = flyte.TaskEnvironment(
    name="ray_cluster",
    plugin_config=RayJobConfig(
        head_node_config=HeadNodeConfig(requests=flyte.Resources(cpu="500m", memory="1Gi"), limits=flyte.Resources(cpu="1", memory="3Gi")),
        worker_node_config=[
            WorkerNodeConfig(
                group_name="workers", replicas=2, requests=flyte.Resources(cpu="250m", memory="500Mi"), limits=flyte.Resources(cpu="1", memory="2Gi"),
            )
        ],
    ),
    resources=flyte.Resources(cpu="250m", memory="500Mi"),
)


@ray.remote
def inside(samples: int) -> int:
    return sum(random.random() ** 2 + random.random() ** 2 < 1 for _ in range(samples))


@env.task
async def main(samples: int = 1_000_000, parts: int = 10) -> float:
    """Pi, from random points that the nodes of the cluster throw."""
    hits = ray.get([inside.remote(samples // parts) for _ in range(parts)])
    return 4 * sum(hits) / (samples // parts * parts)
