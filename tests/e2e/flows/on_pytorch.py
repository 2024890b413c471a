"""A task on several pods of a PyTorchJob, with the released plugin and its torchrun."""

from __future__ import annotations

import os

import flyte
from flyteplugins.pytorch import Elastic

from flows.gang import member

env = flyte.TaskEnvironment(
    name="on_pytorch", resources=flyte.Resources(cpu="100m", memory="2Gi"),
    plugin_config=Elastic(nnodes=2, nproc_per_node=1, max_restarts=0, monitor_interval=1),
)

# To import torch alone takes 350 MiB.
parents = flyte.TaskEnvironment(name="parents_of_pytorch", resources=flyte.Resources(cpu="100m", memory="2Gi"), depends_on=[env])


@env.task
def meet(folder: str) -> str | None:
    """Only the process with the rank 0 of all returns it; the plugin gives the pods of the others nothing."""
    return member(folder, int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))


@parents.task
async def both(folder: str) -> str:
    """One PyTorchJob after the other, each with a directory of its own."""
    return f"{await meet.aio(f'{folder}/first')}, {await meet.aio(f'{folder}/second')}"
