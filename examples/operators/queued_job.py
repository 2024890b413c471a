"""A task that Kueue may keep waiting: it is a Job instead of a plain pod, with the label of a queue. It needs the plugin job, and
Kueue with a LocalQueue named cpus: docs/plugins.md.

    python examples/operators/queued_job.py
"""

from dataclasses import dataclass

import flyte
from flyte.extend import AsyncFunctionTaskTemplate, TaskPluginRegistry


@dataclass
class Job:
    """Marks the tasks that run as Jobs."""


@dataclass(kw_only=True)
class JobTask(AsyncFunctionTaskTemplate):
    plugin_config: Job

    def config(self, sctx) -> dict[str, str]:
        return {"plugin": "job"}


TaskPluginRegistry.register(config_type=Job, plugin=JobTask)

env = flyte.TaskEnvironment(
    name="queued_job",
    resources=flyte.Resources(cpu="200m", memory="300Mi"),
    plugin_config=Job(),
)


@env.task
async def main() -> str:
    return "a Job"


if __name__ == "__main__":
    flyte.init_from_config()
    print(flyte.with_runcontext(labels={"kueue.x-k8s.io/queue-name": "cpus"}).run(main).url)
