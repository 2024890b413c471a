"""Tasks of the SDK that tenants deploy and run."""

from __future__ import annotations

import os
import pathlib
import subprocess

from conftest import ABORTED_AT_EXIT, ROOT
from tenants import DOMAIN, RUNS, Tenant
from test_access import FLYTE, configured


def deploy(tenant: Tenant, folder: pathlib.Path, file: str, *environments: str) -> None:
    """Deploys environments of a file, or all of them, by the released command line, with the tenant's key."""
    config = configured(tenant.server, folder / f"{tenant.project}.yaml", authType="ExternalCommand", command=["echo", tenant.token])
    done = subprocess.run(
        [FLYTE, "--config", config, "deploy", "--version", "v1", "--project", tenant.project, "--domain", DOMAIN, *(() if environments else ("--all",)), file, *environments],
        cwd=ROOT, text=True, timeout=600, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, "FLYTE_DISABLE_SENTRY": "1", "HOME": str(folder)})
    assert done.returncode in (0, ABORTED_AT_EXIT), done.stdout


def start(tenant: Tenant, task: str, memory: str = "", **inputs: object) -> dict:
    """Starts a run of a deployed task, if need be with another limit of memory; its identifier."""
    run, task_id = tenant.run(), {**tenant.place, "name": task, "version": "v1"}
    literals = [{"name": name, "value": {"scalar": {"primitive": {"integer" if isinstance(value, int) else "stringValue": value}}}}
                for name, value in inputs.items()]
    of = {"taskId": task_id}
    if memory:
        spec = tenant.done("flyteidl2.task.TaskService/GetTaskDetails", {"taskId": task_id})["details"]["spec"]
        for kind in ("requests", "limits"):
            for entry in spec["taskTemplate"]["container"]["resources"].get(kind, []):
                if entry["name"] == "MEMORY":
                    entry["value"] = memory
        of = {"taskSpec": spec}
    tenant.done(f"{RUNS}/CreateRun", {"runId": run, "inputs": {"literals": literals}, **of})
    return run


def result(tenant: Tenant, run: dict) -> object:
    """The output of a run, which must end well in its first attempt."""
    assert tenant.reaches(run, "SUCCEEDED")["status"]["attempts"] == 1
    data = tenant.done(f"{RUNS}/GetActionData", {"actionId": {"run": run, "name": "a0"}})
    return next(iter(data["outputs"]["literals"][0]["value"]["scalar"]["primitive"].values()))
