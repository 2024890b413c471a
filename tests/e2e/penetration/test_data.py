"""Attacks on uploads, inputs, outputs, logs and secrets of others."""

from __future__ import annotations

import json

from penetration.observed import logged
from server import Server, eventually
from tenants import ACTIONS, DOMAIN, PROXY, RUNS, Tenant, Victim, put
from test_retention import retention


def test_05_uploaded_code_cannot_be_replaced(attacker: Tenant, victim: Victim):
    evil, root = b"evil code", victim.bundle.parent.name
    status, answer = attacker.upload(evil, **victim.place, filenameRoot=root)
    assert (status, answer["code"]) == (404, "not_found"), answer
    status, answer = attacker.upload(evil, filenameRoot=root)
    assert (status, answer["code"]) == (400, "invalid_argument") and "filename_root" in answer["message"], answer
    for fields in ({"filenameRoot": f"../../{victim.project}/{DOMAIN}/{root}"}, {"filename": f"../../../{victim.project}/{DOMAIN}/{root}/fast.tgz"}):
        status, answer = attacker.upload(evil, **fields)
        assert (status, answer["code"]) == (400, "invalid_argument"), answer
    status, location = attacker.upload(evil)
    assert status == 200, location
    theirs = {**location, "signedUrl": location["signedUrl"].replace(attacker.project, victim.project)}
    assert put(theirs, evil) == 403, "the place is signed"


def test_06_retention_deletes_no_uploads_of_others(server: Server, attacker: Tenant, victim: Victim):
    """A client cannot choose a directory that retention deletes. Here retention deletes all ended runs of the attacker but one."""
    inputs = {"runId": (planned := victim.run()), "taskSpec": victim.spec("true"), "inputs": {"literals": [
        {"name": "text", "value": {"scalar": {"primitive": {"stringValue": victim.mark}}}}]}}
    offloaded = victim.done(f"{PROXY}/UploadInputs", inputs)["offloadedInputData"]
    blobs = server.data / "blobs"
    for base in (blobs / "uploads", blobs / "uploads" / victim.project, blobs / victim.project, blobs / victim.project / DOMAIN, blobs / "not-yet-a-project"):
        attacker.refused(f"{RUNS}/CreateRun", {"runId": attacker.run("offloaded-inputs"), "taskSpec": attacker.spec("true"),
                                               "runSpec": {"runBaseDir": str(base)}}, "invalid_argument", "run_spec.run_base_dir")
    for name in ("offloaded-inputs", "uploads", "last"):
        attacker.reaches(attacker.start("true", name), "SUCCEEDED")
    assert list(attacker.blobs.glob("offloaded-inputs.*"))
    deleted = retention(server, "--now")
    assert not list(attacker.blobs.glob("offloaded-inputs.*")), deleted
    victim.done(f"{RUNS}/CreateRun", {"runId": planned, "taskSpec": inputs["taskSpec"], "offloadedInputData": offloaded})
    victim.reaches(planned, "SUCCEEDED")
    assert victim.mark in victim.input(planned)


def test_09_data_of_others_are_not_read_through_a_run_of_ones_own(attacker: Tenant, victim: Victim):
    """The attacker even knows the unguessable part of the addresses."""
    inputs = next(path for path in victim.blobs.rglob("inputs.pb") if victim.mark.encode() in path.read_bytes())
    standing, mine = {"run": victim.standing, "name": "a0"}, attacker.run()
    belongs = f"does not belong to project {attacker.project}"
    attacker.refused(f"{RUNS}/CreateRun", {
        "runId": mine, "taskSpec": attacker.spec("true"), "offloadedInputData": {"uri": str(inputs.parent), "inputsHash": "x"},
    }, "invalid_argument", "offloaded_input_data.uri: ", belongs)
    attacker.refused(f"{ACTIONS}/Enqueue", attacker.condition(attacker.root, "reads", inputUri=str(inputs.parent)), "invalid_argument", "input_uri: ", belongs)
    code = attacker.spec("true", type="python")
    code["taskTemplate"]["container"]["args"] = ["a0", "--tgz", str(victim.bundle), "--dest", "."]
    attacker.refused(f"{RUNS}/CreateRun", {"runId": mine, "taskSpec": code}, "invalid_argument", f"was not uploaded for project {attacker.project}")
    # The addresses of a file and of its directory may be among the inputs of a run. The server makes nothing of them.
    blobs = [{"name": name, "value": {"scalar": {"blob": {"uri": str(uri), "metadata": {"type": {}}}}}}
             for name, uri in (("file", victim.bundle), ("folder", victim.bundle.parent))]
    attacker.done(f"{RUNS}/CreateRun", {"runId": mine, "taskSpec": attacker.spec("true"), "inputs": {"literals": blobs}})
    action, files = {"run": mine, "name": "a0"}, "flytebinary.insight.v1.FileService"
    for body in ({"uri": str(victim.bundle)}, {"uri": str(victim.bundle.parent), "path": victim.bundle.name}):
        attacker.refused(f"{files}/CreateFileLink", {"actionId": action, **body}, "invalid_argument", belongs)
        attacker.refused(f"{files}/ReadFile", {"actionId": action, "length": 100, **body}, "invalid_argument", belongs)
    listed = attacker.done(f"{files}/ListFiles", {"actionId": action})["values"]
    assert [value["uri"] for value in listed] == [str(victim.bundle), str(victim.bundle.parent)], listed
    assert not any(value.get("files") for value in listed) and all(belongs in value["missing"] for value in listed), listed
    attempt = {"actionId": standing, "attempt": 1}
    for procedure, body in (
        (f"{RUNS}/GetActionData", {"actionId": standing}), (f"{RUNS}/GetRunDetails", {"runId": victim.standing}), (f"{RUNS}/AbortRun", {"runId": victim.standing}),
        (f"{RUNS}/ListActions", {"runId": victim.standing}), (f"{RUNS}/ListRuns", {"projectId": {"name": victim.project, "domain": DOMAIN}}),
        (f"{PROXY}/GetActionData", {"actionId": standing}),
        (f"{PROXY}/CreateDownloadLink", {"artifactType": "ARTIFACT_TYPE_REPORT", "actionAttemptId": attempt}),
        (f"{ACTIONS}/Enqueue", victim.condition(victim.standing, "intruder")), (f"{ACTIONS}/Abort", {"actionId": standing}),
        (f"{ACTIONS}/Signal", {"actionId": {"run": victim.standing, "name": "waits"}, "value": {"scalar": {"primitive": {"boolean": True}}}}),
        (f"{ACTIONS}/Update", {**attempt, "status": {"phase": "ACTION_PHASE_SUCCEEDED"}}),
        ("flyteidl2.secret.SecretService/GetSecret", {"id": {**victim.place, "name": "password"}}),
    ):
        attacker.refused(procedure, body, "not_found")
    everything = attacker.done(f"{RUNS}/ListRuns", {"org": "local", "request": {"limit": 200}})
    assert victim.project not in json.dumps(everything)


def test_10_a_task_gets_no_secret_of_another_project(attacker: Tenant, victim: Victim):
    """It asks for one by a name that the victim has; by the victim's project it cannot ask."""
    secret = lambda **fields: {"securityContext": {"secrets": [{"key": "password", "mountRequirement": "ENV_VAR", "envVar": "GOT", **fields}]}}  # noqa: E731
    run = attacker.run()
    attacker.done(f"{RUNS}/CreateRun", {"runId": run, "taskSpec": attacker.spec("echo $GOT", **secret())})
    failed = attacker.reaches(run, "FAILED")
    assert "password" in json.dumps(failed["errorInfo"]), failed
    theirs = victim.run()
    victim.done(f"{RUNS}/CreateRun", {"runId": theirs, "taskSpec": victim.spec(f'test "$GOT" = {victim.mark}-password', **secret())})
    victim.reaches(theirs, "SUCCEEDED")


def test_22_the_node_shows_a_log_to_its_own_tenant_alone(attacker: Tenant, victim: Victim):
    """The logs of both come over the certificates of one node. That they are renewed while it runs is a test of the node, with a clock."""
    run = attacker.start("echo of the attacker; sleep 3600")
    attacker.reaches(run, "RUNNING")
    eventually(lambda: "of the attacker" in attacker.log(run), what="the attacker's own log")
    eventually(lambda: victim.mark in victim.log(victim.standing), what="the victim's own log")
    assert '"not_found"' in attacker.log(victim.standing)
    assert '"not_found"' in victim.log(run)
    attacker.done(f"{RUNS}/AbortRun", {"runId": run})


def test_second_04_an_error_tells_no_secret(server: Server, attacker: Tenant, victim: Victim):
    """The victim's command is expanded from a secret, and cannot start."""
    secret = {"secrets": [{"key": "password", "mountRequirement": "ENV_VAR", "envVar": "GOT"}]}
    spec = victim.spec("", securityContext=secret)
    spec["taskTemplate"]["container"].update(command=["$(GOT)"], args=[])
    run = victim.run()
    victim.done(f"{RUNS}/CreateRun", {"runId": run, "taskSpec": spec})
    assert f"{victim.mark}-password" not in json.dumps(victim.reaches(run, "FAILED"))
    assert logged(server, f"{victim.mark}-password") == 0
    attacker.refused(f"{RUNS}/GetActionDetails", {"actionId": {"run": run, "name": "a0"}}, "not_found")
