"""Tasks of an environment whose attempts share a Ray cluster."""

from __future__ import annotations

import os
import pathlib

import flyte
import ray
from flyteplugins.ray import RayJobConfig, WorkerNodeConfig

from flows.gang import until
from flows.on_ray import HEAD, PATIENCE, SMALL, STORE

KEPT = RayJobConfig(head_node_config=HEAD, worker_node_config=[WorkerNodeConfig(group_name="workers", replicas=1, ray_start_params=STORE)])
env = flyte.TaskEnvironment(name="shared_ray", resources=SMALL, env_vars=PATIENCE, plugin_config=KEPT, reusable=flyte.ReusePolicy(replicas=1, idle_ttl=60))


@ray.remote(num_cpus=0)
def seen_by_a_worker(name: str) -> str:
    return os.environ.get(name, "")


def about(folder: str) -> dict[str, str]:
    """What a program knows of the place where it runs."""
    place = pathlib.Path(folder)
    run = os.environ["RUN_NAME"]
    (place / f"pid-{run}").write_text(str(os.getpid()))
    print(f"the driver of {run} is here", flush=True)
    plan = place / f"plan-{run}"
    until(lambda: not (place / "hold").exists() or plan.exists(), "the word to go")
    return {
        "node": ray.get_runtime_context().get_node_id(), "run": run, "directory": os.getcwd(), "given": os.environ.get("GIVEN", ""),
        "worker": ray.get(seen_by_a_worker.remote("RUN_NAME")),
    }


@env.task(retries=1)
def first(folder: str) -> dict[str, str]:
    return about(folder)


@env.task(retries=1)
def second(folder: str) -> dict[str, str]:
    return about(folder)
