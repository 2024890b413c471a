"""A task on two workers that know each other by TF_CONFIG. It needs the plugin tensorflow and the Kubeflow training operator:
docs/plugins.md. The SDK has no package for it, so TFJobTask says what the server reads. With TensorFlow in the image,
tf.distribute.MultiWorkerMirroredStrategy reads TF_CONFIG.

    flyte --config ... run examples/operators/tensorflow_gang.py main
"""

import json
import os
from dataclasses import dataclass

import flyte
from flyte.extend import AsyncFunctionTaskTemplate, TaskPluginRegistry


@dataclass
class TFJob:
    workers: int


@dataclass(kw_only=True)
class TFJobTask(AsyncFunctionTaskTemplate):
    plugin_config: TFJob
    task_type: str = "tensorflow"
    task_type_version: int = 1

    def custom_config(self, sctx) -> dict:
        return {"workerReplicas": {"replicas": self.plugin_config.workers}}


TaskPluginRegistry.register(config_type=TFJob, plugin=TFJobTask)

env = flyte.TaskEnvironment(
    name="tensorflow_gang",
    resources=flyte.Resources(cpu=1, memory="1Gi"),
    plugin_config=TFJob(workers=2),
)


@env.task
async def main() -> str:
    """Worker 0 returns its own words."""
    config = json.loads(os.environ["TF_CONFIG"])
    return f"{config['task']['type']} {config['task']['index']} of {len(config['cluster']['worker'])}"
