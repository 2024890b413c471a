"""Squares on a Ray cluster of the task's own. It needs the plugin ray and KubeRay: docs/plugins.md.

    pip install flyteplugins-ray
    flyte --config ... run examples/operators/ray_cluster.py main --n 100
"""

import flyte
import ray
from flyteplugins.ray import RayJobConfig, WorkerNodeConfig

env = flyte.TaskEnvironment(
    name="ray_cluster",
    resources=flyte.Resources(cpu=1, memory="2Gi"),
    plugin_config=RayJobConfig(worker_node_config=[WorkerNodeConfig(group_name="workers", replicas=2)]),
)


@ray.remote
def square(n: int) -> int:
    return n * n


@env.task
def main(n: int = 10) -> int:
    return sum(ray.get([square.remote(i) for i in range(n)]))
