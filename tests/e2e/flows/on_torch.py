"""Tasks that compute with real PyTorch on several pods: with the released plugin, and with the SDK's own torchrun on a JobSet."""

from __future__ import annotations

import os
import pathlib
import signal
import socket
import time

import flyte
import torch
import torch.distributed as dist
from flyte.clustered import ClusteredTaskEnvironment, ClusterFailurePolicy, TorchRun
from flyteplugins.pytorch import Elastic

resources = flyte.Resources(cpu="100m", memory="2Gi")
trio = flyte.TaskEnvironment(
    name="on_torch", resources=resources, plugin_config=Elastic(nnodes=3, nproc_per_node=1, max_restarts=0, monitor_interval=1),
)
restarting = flyte.TaskEnvironment(
    name="on_torch_again", resources=resources,
    # The plugin looks every 10 seconds whether all its processes are dead, and ends if so. The agent must have noticed by then.
    plugin_config=Elastic(nnodes=3, nproc_per_node=1, max_restarts=2, monitor_interval=0.05),
)
pairs = ClusteredTaskEnvironment(name="on_torchrun", replicas=2, nproc_per_node=2, runtime=TorchRun(), resources=resources)
again = ClusteredTaskEnvironment(
    name="on_torchrun_again", replicas=2, nproc_per_node=1, runtime=TorchRun(), resources=resources,
    failure_policy=ClusterFailurePolicy(max_restarts=1),
)
in_pod = ClusteredTaskEnvironment(
    name="on_torchrun_in_pod", replicas=2, nproc_per_node=1, runtime=TorchRun(rdzv_backend="c10d", max_restarts=1), resources=resources,
)


def summed() -> list[int]:
    """Each rank adds a power of two to a tensor and one to the number of its own address: how many ranks, their sum, how many addresses."""
    dist.init_process_group("gloo")
    total = torch.tensor([2 ** dist.get_rank()])
    dist.all_reduce(total)
    found: list[str] = [""] * dist.get_world_size()
    dist.all_gather_object(found, socket.gethostbyname(socket.gethostname()))
    own = {address for address in found if address.startswith("127.") and address != "127.0.0.1"}
    result = [dist.get_world_size(), int(total.item()), len(own)]
    dist.destroy_process_group()
    return result


@trio.task
def reduces() -> list[int] | None:
    print(f"rank {os.environ['RANK']} reduces", flush=True)
    return summed()


@pairs.task
def reduces_twice() -> list[int]:
    """Two processes on each of two pods."""
    return summed()


def stays(folder: str) -> None:
    """All ranks are in a collective operation when one is lost."""
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    while True:
        dist.all_reduce(torch.tensor([1]))
        place = pathlib.Path(folder) / f"pid-{rank}"
        if not place.exists():
            place.write_text(f"{os.getpid()} {os.getppid()}")
        time.sleep(0.1)


@trio.task
def never_ends(folder: str) -> list[int] | None:
    stays(folder)
    return None


@again.task
def dies_once() -> list[int]:
    """The second rank is killed on the first try of the JobSet. The first one notices in its operation."""
    if os.environ["JOBSET_RESTART_ATTEMPT"] != "0":
        return summed()
    dist.init_process_group("gloo")
    if os.environ["RANK"] == "1":
        os.kill(os.getpid(), signal.SIGKILL)
    while True:
        dist.all_reduce(torch.tensor([1]))


@restarting.task
def dies_in_its_first_round(folder: str) -> list[int] | None:
    """The second rank is killed in its first round, while the others are in a collective operation."""
    died = pathlib.Path(folder) / "died"
    if died.exists():
        return summed()
    dist.init_process_group("gloo")
    if os.environ["RANK"] == "1":
        died.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    while True:
        dist.all_reduce(torch.tensor([1]))


@in_pod.task
def dies_in_its_pod(folder: str) -> list[int]:
    """As above. TORCHELASTIC_RESTART_COUNT differs by pod: an agent that starts its ranks again because another one did does not count."""
    died = pathlib.Path(folder) / "died"
    if died.exists():
        return [*summed(), int(os.environ["JOBSET_RESTART_ATTEMPT"])]
    dist.init_process_group("gloo")
    if os.environ["RANK"] == "1":
        died.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    while True:
        dist.all_reduce(torch.tensor([1]))
