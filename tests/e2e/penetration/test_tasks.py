"""Attacks by tasks: by what they leave, by how they end, and by what they ask of their pods."""

from __future__ import annotations

import json
import pathlib
import re

import pytest

from server import alive, eventually
from tenants import RUNS, Tenant, Victim


def test_04_pipes_in_the_place_of_outputs_stop_no_other_task(attacker: Tenant, victim: Victim):
    """There are more of them than the executor has workers, so that one that waited for each would start nothing more."""
    runs = [attacker.start("mkdir -p {{.outputPrefix}}; mkfifo {{.outputPrefix}}/error.pb {{.outputPrefix}}/outputs.pb; exit 1") for _ in range(4)]
    for run in runs:
        attacker.reaches(run, "FAILED")
        attacker.call(f"{RUNS}/GetActionData", {"actionId": {"run": run, "name": "a0"}})


def test_08_children_end_with_an_action_that_no_process_runs(sleeper: tuple[Tenant, dict]):
    """They stayed unfinished forever, after their parent had ended."""
    tenant, run = sleeper
    tenant.reaches(run, "SUCCEEDED")
    for name in ("one", "two"):
        tenant.reaches(run, "ABORTED", name)


def pod(attacker: Tenant, spec: dict) -> dict:
    """A task with a pod spec; spec may have fields of its container, below "main"."""
    container = {"name": "main", "image": "python", "command": ["true"], **spec.pop("main", {})}
    template = {"id": {**attacker.place, "name": "tenants.pod", "version": "1"}, "type": "python"}
    return {"taskTemplate": {**template, "k8sPod": {"primaryContainerName": "main", "podSpec": {"containers": [container], **spec}}}}


@pytest.mark.parametrize("spec, words", [
    ({"main": {"securityContext": {"privileged": True}}}, 'container "main" must not set securityContext.privileged=true'),
    ({"main": {"securityContext": {"capabilities": {"add": ["SYS_PTRACE"]}}}}, "SYS_PTRACE"),
    ({"main": {"ports": [{"containerPort": 80, "hostPort": 80}]}}, "80"),
    ({"main": {"envFrom": [{"secretRef": {"name": "theirs"}}]}}, '"theirs"'),
    ({"main": {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "theirs", "key": "password"}}}]}}, '"theirs"'),
    ({"volumes": [{"name": "root", "hostPath": {"path": "/"}}]}, 'volume "root" is of the kind hostPath'),
    ({"volumes": [{"name": "v", "secret": {"secretName": "theirs"}}]}, 'volume "v" refers to the secret "theirs"'),
    ({"volumes": [{"name": "v", "projected": {"sources": [{"secret": {"name": "theirs"}}]}}]}, '"theirs"'),
    ({"hostNetwork": True}, "hostNetwork=true"), ({"hostPID": True}, "hostPID=true"), ({"hostIPC": True}, "hostIPC=true"),
    ({"nodeName": "control-plane"}, "nodeName"), ({"priorityClassName": "system-node-critical"}, "system-node-critical"),
    ({"runtimeClassName": "runc"}, "runc"), ({"serviceAccountName": "admin"}, '"admin"'),
    ({"initContainers": [{"name": "setup", "image": "python", "securityContext": {"privileged": True}}]}, 'container "setup"'),
    ({"ephemeralContainers": [{"name": "debug", "image": "python"}]}, "ephemeralContainers"),
], ids=lambda value: None if isinstance(value, str) else "-".join(re.findall(r"[A-Za-z]+", json.dumps(value))[:3]))
def test_10_a_pod_takes_nothing_of_the_node_or_of_others(attacker: Tenant, spec: dict, words: str):
    attacker.refused(f"{RUNS}/CreateRun", {"runId": attacker.run(), "taskSpec": pod(attacker, dict(spec))}, "invalid_argument", words)
    deploy = {"taskId": {**attacker.place, "name": "tenants.pod", "version": "1"}, "spec": pod(attacker, dict(spec))}
    if "serviceAccountName" not in spec:  # whether a project has an account is decided for each run
        attacker.refused("flyteidl2.task.TaskService/DeployTask", deploy, "invalid_argument", words)
        return
    attacker.done("flyteidl2.task.TaskService/DeployTask", deploy)
    attacker.refused(f"{RUNS}/CreateRun", {"runId": attacker.run(), "taskId": deploy["taskId"]}, "invalid_argument", words)


def test_second_10_a_task_that_stops_its_supervisor_is_ended(attacker: Tenant, tmp_path: pathlib.Path):
    tmp_path.chmod(0o777)
    run = attacker.start(f"echo $$$$ > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/pid; kill -STOP $PPID; exec sleep 3600")
    eventually((tmp_path / "pid").exists, what="the task")
    pid = int((tmp_path / "pid").read_text())
    attacker.done(f"{RUNS}/AbortRun", {"runId": run})
    eventually(lambda: not alive(pid), what="the end of its process")
    attacker.reaches(run, "ABORTED")
