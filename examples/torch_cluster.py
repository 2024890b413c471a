"""A task of two nodes that torchrun starts: `flyte-binary demo --with pytorch`, then `flyte run examples/torch_cluster.py main`.

Requires `flyteplugins-pytorch` and `torch` in the demo's Python environment and in yours. The plugin takes two processes a node.
"""

import flyte
import torch
import torch.distributed as dist
from flyteplugins.pytorch import Elastic

env = flyte.TaskEnvironment(
    name="torch_cluster", plugin_config=Elastic(nnodes=2, nproc_per_node=2, rdzv_backend="c10d"), resources=flyte.Resources(cpu="500m", memory="2Gi"),
)


@env.task
def main() -> float:
    """The sum of the ranks of all processes."""
    dist.init_process_group("gloo")
    rank = torch.tensor([float(dist.get_rank())])
    dist.all_reduce(rank)
    dist.destroy_process_group()
    return rank.item()
