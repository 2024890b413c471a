"""Tasks that compute on real Ray and real Dask, through the released plugins."""

import os
import pathlib
import socket
import time

import distributed
import flyte
import ray
from flyteplugins.dask import Dask, Scheduler, WorkerGroup
from flyteplugins.ray import HeadNodeConfig, RayJobConfig, WorkerNodeConfig

small = flyte.Resources(cpu="500m", memory="1Gi")
ray_env = flyte.TaskEnvironment(
    name="on_ray",
    plugin_config=RayJobConfig(
        head_node_config=HeadNodeConfig(limits=flyte.Resources(cpu="1", memory="3Gi"), requests=flyte.Resources(cpu="100m", memory="1Gi")),
        worker_node_config=[WorkerNodeConfig(
            group_name="w", replicas=1, limits=flyte.Resources(cpu="1", memory="2Gi"), requests=flyte.Resources(cpu="100m", memory="500Mi"),
        )],
    ),
    resources=small,
)
dask_env = flyte.TaskEnvironment(
    name="on_dask",
    plugin_config=Dask(
        scheduler=Scheduler(resources=flyte.Resources(cpu="100m", memory="1Gi")),
        workers=WorkerGroup(number_of_workers=2, resources=flyte.Resources(cpu="100m", memory="1Gi")),
    ),
    resources=flyte.Resources(cpu="100m", memory="1Gi"),
)


def wait_for(path: str) -> None:
    while not pathlib.Path(path).exists():
        time.sleep(0.1)


@ray.remote(num_cpus=1)
def node_of(number: int, folder: str) -> tuple[str, int]:
    if folder:
        (pathlib.Path(folder) / f"pid-{ray.util.get_node_ip_address()}").write_text(str(os.getpid()))
        wait_for(f"{folder}/enough")
    else:
        time.sleep(1)  # so that one node does not do all of the work
    return ray.util.get_node_ip_address(), number * number


# A cluster that another task has. The variable is in the task's process, too.
existing_env = flyte.TaskEnvironment(
    name="on_existing_ray",
    plugin_config=RayJobConfig(
        head_node_config=HeadNodeConfig(limits=flyte.Resources(cpu="1", memory="2Gi"), requests=flyte.Resources(cpu="100m", memory="500Mi")),
        worker_node_config=[], address=os.environ.get("EXISTING_RAY"),
    ),
    resources=small,
)
reusable_env = flyte.TaskEnvironment(
    name="on_reusable_ray", plugin_config=RayJobConfig(worker_node_config=[]), resources=small, reusable=flyte.ReusePolicy(replicas=1, idle_ttl=30),
)


@ray.remote(num_cpus=0)
def where() -> str:
    return ray.util.get_node_ip_address()


@ray.remote(num_cpus=0)
def run_of() -> str:
    return os.environ["RUN_NAME"]


@existing_env.task
async def on_existing_ray() -> list[str]:
    """Where the task's own head is, and where its remote function ran."""
    return [socket.gethostbyname(socket.gethostname()), ray.get(where.remote())]


@reusable_env.task
async def on_reusable_ray() -> list[str]:
    """The head that it runs on, and what a worker knows of the run."""
    return [ray.get_runtime_context().get_node_id(), ray.get(run_of.remote()), os.environ["GIVEN"]]


@ray_env.task
async def on_ray(number: int, folder: str = "") -> list[int]:
    """Squares, computed on both nodes: how many nodes, whether each has an address of its own, then the squares."""
    print("the driver of ray runs", flush=True)
    if folder:
        (pathlib.Path(folder) / "head").write_text(ray.get_runtime_context().gcs_address)
    found = ray.get([node_of.remote(i, folder) for i in range(number)])
    nodes = {where for where, _ in found}
    return [len(nodes), int(all(one.startswith("127.") and one != "127.0.0.1" for one in nodes)), *(square for _, square in found)]


@ray_env.task
async def ray_fails(number: int) -> int:
    raise ValueError("the driver of ray fails")


@dask_env.task
async def on_dask(number: int, folder: str = "") -> list[int]:
    """As on_ray."""
    print("the runner of dask runs", flush=True)
    with distributed.Client() as client:
        client.wait_for_workers(2, timeout=600)

        def square(i):
            if folder:
                (pathlib.Path(folder) / f"pid-{distributed.get_worker().name}").write_text(str(os.getpid()))
                wait_for(f"{folder}/enough")
            return distributed.get_worker().address, i * i

        workers = list(client.scheduler_info()["workers"])
        found = client.gather([client.submit(square, i, workers=workers[i % 2], allow_other_workers=True, pure=False) for i in range(number)])
        hosts = {where.rsplit(":", 1)[0] for where in workers}
        return [len(workers), int(len(hosts) == 2 and all(host.startswith("tcp://127.") for host in hosts)), *(square for _, square in found)]


@dask_env.task
async def dask_fails(number: int) -> int:
    raise ValueError("the runner of dask fails")
