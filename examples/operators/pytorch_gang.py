"""Adds up a number from each of two processes on two nodes. It needs the plugin pytorch and the Kubeflow training operator, or the
plugin trainjob and Kubeflow Trainer: docs/plugins.md.

    pip install flyteplugins-pytorch
    flyte --config ... run examples/operators/pytorch_gang.py main
"""

import flyte
import torch
import torch.distributed
from flyteplugins.pytorch import Elastic

env = flyte.TaskEnvironment(
    name="pytorch_gang",
    resources=flyte.Resources(cpu=1, memory="2Gi"),
    plugin_config=Elastic(nnodes=2, nproc_per_node=1),
)


@env.task
def main() -> float | None:
    """The process with the rank 0 returns the sum; the others return nothing."""
    torch.distributed.init_process_group("gloo")
    value = torch.tensor(float(torch.distributed.get_rank() + 1))
    torch.distributed.all_reduce(value)
    return value.item() if torch.distributed.get_rank() == 0 else None
