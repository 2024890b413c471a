"""A task on the workers of a TFJob. The SDK has no released plugin for it: this one sends what the backend reads."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

import flyte
from flyte.extend import AsyncFunctionTaskTemplate, TaskPluginRegistry

from flows.gang import member


@dataclass
class TFJob:
    workers: int
    chiefs: int = 0


@dataclass(kw_only=True)
class TFJobTask(AsyncFunctionTaskTemplate):
    plugin_config: TFJob
    task_type: str = "tensorflow"
    task_type_version: int = 1

    def custom_config(self, sctx) -> dict:
        return {"workerReplicas": {"replicas": self.plugin_config.workers}, "chiefReplicas": {"replicas": self.plugin_config.chiefs}}


TaskPluginRegistry.register(config_type=TFJob, plugin=TFJobTask)

env = flyte.TaskEnvironment(name="on_tensorflow", resources=flyte.Resources(cpu="100m", memory="300Mi"), plugin_config=TFJob(workers=2))


led = flyte.TaskEnvironment(
    name="on_led_tensorflow", resources=flyte.Resources(cpu="100m", memory="300Mi"), plugin_config=TFJob(workers=1, chiefs=1))


def me() -> dict:
    return json.loads(os.environ["TF_CONFIG"])["task"]


@env.task
def meet(folder: str) -> str:
    return member(folder, me()["index"], 2)


@led.task
def meet_the_chief(folder: str) -> str:
    """The chief is member 0."""
    return member(folder, 0 if me()["type"] == "chief" else 1, 2)
