"""A task with a Ray cluster of its own."""

from __future__ import annotations

import os
import pathlib

import flyte
import ray
from flyteplugins.ray import HeadNodeConfig, RayJobConfig, WorkerNodeConfig

from flows.gang import until

# Ray has sockets in its directory, and their paths must be short.
STORE = {"object-store-memory": "80000000", "num-cpus": "1"}
SMALL = flyte.Resources(cpu="100m", memory="3Gi")
env = flyte.TaskEnvironment(
    name="on_ray", resources=SMALL,
    plugin_config=RayJobConfig(
        head_node_config=HeadNodeConfig(ray_start_params={**STORE, "temp-dir": "/tmp/ray-of-operators"}),
        worker_node_config=[WorkerNodeConfig(group_name="workers", replicas=1, ray_start_params=STORE)],
    ),
)


@ray.remote
def square(n: int) -> int:
    return n * n


@env.task
def squares(folder: str, text: str = "it's $HOME") -> str:
    """Computes on the cluster, and follows the plan of member 0."""
    place = pathlib.Path(folder)
    until(lambda: len([n for n in ray.nodes() if n["Alive"]]) == 2, "two nodes")
    (place / "member-0").write_text(str(os.getpid()))
    print("the driver is here", flush=True)
    plan = place / "plan-0"
    match plan.read_text() if plan.exists() else "":
        case "raise":
            raise ValueError("the driver was told to fail")
        case "exit":
            os._exit(3)
        case "hold":
            until(lambda: (place / "go").exists(), "the word to go")
    return f"sum {sum(ray.get([square.remote(n) for n in range(10)]))} {text}"
