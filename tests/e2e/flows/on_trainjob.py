"""The task of on_pytorch as a TrainJob, version 2 of Kubeflow's operator."""

from __future__ import annotations

import os
from dataclasses import dataclass

import flyte
from flyte.extend import TaskPluginRegistry
from flyteplugins.pytorch import Elastic
from flyteplugins.pytorch.task import TorchFunctionTask

from flows.gang import member


@dataclass
class OnTrainer(Elastic):
    """Chooses the plugin where both versions of the operator are installed."""


@dataclass(kw_only=True)
class TrainJobTask(TorchFunctionTask):
    def config(self, sctx) -> dict[str, str]:
        return {"plugin": "trainjob"}


TaskPluginRegistry.register(config_type=OnTrainer, plugin=TrainJobTask)

env = flyte.TaskEnvironment(
    name="on_trainjob", resources=flyte.Resources(cpu="100m", memory="2Gi"),
    plugin_config=OnTrainer(nnodes=2, nproc_per_node=1, max_restarts=0, monitor_interval=1),
)


@env.task
def meet(folder: str) -> str | None:
    return member(folder, int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
