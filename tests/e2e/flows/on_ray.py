"""A task with a Ray cluster of its own."""

from __future__ import annotations

import os
import pathlib

import flyte
import ray
from flyteplugins.ray import HeadNodeConfig, RayJobConfig, WorkerNodeConfig
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from flows.gang import until

# Nodes of one machine would take the same ports for their workers.
STORE = {"object-store-memory": "80000000", "num-cpus": "1", "min-worker-port": "0", "max-worker-port": "0"}
SMALL = flyte.Resources(cpu="100m", memory="3Gi")
# The first: a node ends with its cluster, so there is nothing to drain. The others: a busy machine is slow, not lost.
PATIENCE = {
    "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S": "0", "RAY_agent_register_timeout_ms": "300000", "RAY_health_check_timeout_ms": "60000",
    "RAY_health_check_initial_delay_ms": "60000",
}
# Ray has sockets in its directory, and their paths must be short.
HEAD = HeadNodeConfig(ray_start_params={**STORE, "temp-dir": "/tmp/ray-of-operators"})
env = flyte.TaskEnvironment(
    name="on_ray", resources=SMALL, env_vars=PATIENCE,
    plugin_config=RayJobConfig(
        head_node_config=HEAD,
        worker_node_config=[WorkerNodeConfig(group_name="workers", replicas=1, ray_start_params=STORE)],
    ),
)


def on_one_machine(task):
    """The task with a cluster whose nodes share one busy machine."""
    task.plugin_config.head_node_config = HEAD
    for group in task.plugin_config.worker_node_config:
        group.ray_start_params = STORE
    return task.override(env_vars=PATIENCE)


@ray.remote
def square(n: int) -> int:
    return n * n


@ray.remote(num_cpus=0)
def node_of_this() -> int:
    return os.getppid()


def worker_node() -> int:
    """The process of the node that is not the head."""
    head = ray.get_runtime_context().get_node_id()
    other = next(n["NodeID"] for n in ray.nodes() if n["Alive"] and n["NodeID"] != head)
    return ray.get(node_of_this.options(scheduling_strategy=NodeAffinitySchedulingStrategy(other, soft=False)).remote())


def both_nodes() -> None:
    until(lambda: len([n for n in ray.nodes() if n["Alive"]]) == 2, "two nodes")


@env.task
def squares(folder: str, text: str = "it's $HOME") -> str:
    """Computes on the cluster, and follows the plan of member 0."""
    place = pathlib.Path(folder)
    both_nodes()
    (place / "worker-0").write_text(str(worker_node()))
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
    both_nodes()
    return f"sum {sum(ray.get([square.remote(n) for n in range(10)]))} {text}"
