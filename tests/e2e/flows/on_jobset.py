"""A task on several pods of a JobSet."""

from __future__ import annotations

import flyte
from flyte.clustered import ClusteredTaskEnvironment, ClusterFailurePolicy, JaxRun

from flows.gang import member

SMALL = flyte.Resources(cpu="100m", memory="200Mi")
env = ClusteredTaskEnvironment(name="on_jobset", replicas=2, nproc_per_node=1, runtime=JaxRun(), resources=SMALL)
restarting = ClusteredTaskEnvironment(
    name="on_restarting_jobset", replicas=2, nproc_per_node=1, runtime=JaxRun(), resources=SMALL,
    failure_policy=ClusterFailurePolicy(max_restarts=1),
)
parents = flyte.TaskEnvironment(name="parents_of_jobsets", resources=SMALL, depends_on=[env])


@env.task
async def meet(folder: str) -> str:
    return member(folder, flyte.ctx().rank, flyte.ctx().world_size)


@restarting.task
async def meet_again(folder: str) -> str:
    return member(folder, flyte.ctx().rank, flyte.ctx().world_size)


@parents.task
async def both(folder: str) -> str:
    """One JobSet after the other, each with a directory of its own."""
    return f"{await meet(f'{folder}/first')}, {await meet(f'{folder}/second')}"
