"""A task on the pods of an MPIJob. The SDK has no released plugin for it: this one sends what the backend reads. A double plays mpirun,
which needs kubectl or ssh to start a program on another host: it reads the operator's list of hosts, and each worker starts what it is
told in a directory of its own."""

from __future__ import annotations

import os
import pathlib
import shutil
import sys
from dataclasses import dataclass

import flyte
from flyte.extend import AsyncFunctionTaskTemplate, TaskPluginRegistry

from flows import mpi_host
from flows.gang import until


@dataclass
class MPIJob:
    workers: int


@dataclass(kw_only=True)
class MPIJobTask(AsyncFunctionTaskTemplate):
    plugin_config: MPIJob
    task_type: str = "mpi"
    task_type_version: int = 1

    def custom_config(self, sctx) -> dict:
        return {"workerReplicas": {"replicas": self.plugin_config.workers, "command": [sys.executable, "-c", mpi_host.PROGRAM]},
                "launcherReplicas": {"replicas": 1}, "slots": 1}


TaskPluginRegistry.register(config_type=MPIJob, plugin=MPIJobTask)

env = flyte.TaskEnvironment(name="on_mpi", resources=flyte.Resources(cpu="100m", memory="300Mi"), plugin_config=MPIJob(workers=2))


def hosts() -> list[str]:
    """Those of the operator's file, each with its number of slots."""
    lines = pathlib.Path(os.environ["OMPI_MCA_orte_default_hostfile"]).read_text().splitlines()
    assert all(line.split()[1:] == ["slots=1"] for line in lines), lines
    return [line.split()[0] for line in lines]


def ended(place: pathlib.Path) -> int | None:
    """The exit code of the program on a host; that of a kill if the host is gone."""
    try:
        return int((place / "code").read_text())
    except (FileNotFoundError, ValueError):
        pass
    try:
        os.kill(int((place / "host").read_text()), 0)
    except ProcessLookupError:
        return 137
    return None


@env.task
def meet(folder: str) -> str:
    """Starts one member on each host, and fails when one of them has failed."""
    here = str(pathlib.Path(__file__).resolve().parent.parent)
    places = [pathlib.Path("/tmp/mpi-hosts") / host for host in hosts()]
    print("the launcher is here", flush=True)
    for rank, place in enumerate(places):
        until(lambda: (place / "host").exists(), f"host {place.name}")
        program = f"import sys; sys.path.insert(0, {here!r}); from flows.gang import member; member({folder!r}, {rank}, {len(places)})"
        (place / "new").write_text(program)
        (place / "new").rename(place / "program")
    codes: list[int | None] = []

    def settled() -> bool:
        codes[:] = [ended(place) for place in places]
        return None not in codes or any(codes)

    until(settled, "the members to end")
    for place in places:
        shutil.rmtree(place)
    if any(codes):
        raise RuntimeError(f"members of the launcher ended with {codes}")
    return f"{len(places)} members met"
