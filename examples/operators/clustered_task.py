"""A task on two pods that know each other. It needs the plugin jobset and the JobSet controller: docs/plugins.md.

    flyte --config ... run examples/operators/clustered_task.py main
"""

import flyte
from flyte.clustered import ClusteredTaskEnvironment, JaxRun

env = ClusteredTaskEnvironment(
    name="clustered_task",
    resources=flyte.Resources(cpu=1, memory="500Mi"),
    replicas=2,
    nproc_per_node=1,
    runtime=JaxRun(),
)


@env.task
async def main() -> str:
    """The first pod returns its own words."""
    return f"rank {flyte.ctx().rank} of {flyte.ctx().world_size}"
