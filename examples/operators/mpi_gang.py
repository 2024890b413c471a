"""A task whose launcher knows the hosts of two workers. It needs the plugin mpi and the Kubeflow training operator: docs/plugins.md. The
SDK has no package for it, so MPIJobTask says what the server reads. With MPI in the image, the launcher calls mpirun, which reads the
same file and starts a program on each host.

    flyte --config ... run examples/operators/mpi_gang.py main
"""

import os
import pathlib
from dataclasses import dataclass

import flyte
from flyte.extend import AsyncFunctionTaskTemplate, TaskPluginRegistry


@dataclass
class MPIJob:
    workers: int


@dataclass(kw_only=True)
class MPIJobTask(AsyncFunctionTaskTemplate):
    plugin_config: MPIJob
    task_type: str = "mpi"
    task_type_version: int = 1

    def custom_config(self, sctx) -> dict:
        # What the workers run until the launcher ends: usually an ssh server.
        workers = {"replicas": self.plugin_config.workers, "command": ["sleep", "infinity"]}
        return {"workerReplicas": workers, "launcherReplicas": {"replicas": 1}, "slots": 1}


TaskPluginRegistry.register(config_type=MPIJob, plugin=MPIJobTask)

env = flyte.TaskEnvironment(
    name="mpi_gang",
    resources=flyte.Resources(cpu=1, memory="500Mi"),
    plugin_config=MPIJob(workers=2),
)


@env.task
async def main() -> str:
    hosts = pathlib.Path(os.environ["OMPI_MCA_orte_default_hostfile"]).read_text().splitlines()
    return f"{len(hosts)} hosts"
