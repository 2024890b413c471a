"""Attacks by names: of runs, actions, projects, namespaces, and of who calls."""

from __future__ import annotations

import base64
import json
import ssl
import urllib.error
import urllib.request

import pytest
import yaml

from penetration.observed import logged
from server import Server, eventually
from tenants import ACTIONS, DOMAIN, PROJECTS, RUNS, Tenant, Victim
from test_access import Browser


def test_07_a_nul_makes_no_ones_changes_slow(server: Server, attacker: Tenant, victim: Victim):
    """Postgres refused the batch that had it, and all changes of the batch were stored one by one."""
    bad = "a\0b"
    before = logged(server, "postgres rejected a transaction")
    for procedure, body, field in (
        (f"{RUNS}/AbortRun", {"runId": attacker.run(bad)}, "run_id.name"), (f"{RUNS}/GetRunDetails", {"runId": attacker.run(bad)}, "run_id.name"),
        (f"{ACTIONS}/Enqueue", attacker.condition(attacker.root, bad), "action.action_id.name"),
        (f"{ACTIONS}/Signal", {"actionId": {"run": attacker.root, "name": bad}}, "action_id.name"),
        (f"{RUNS}/AbortRun", {"runId": attacker.root, "reason": bad}, "reason"),
        (f"{RUNS}/CreateRun", {"runId": attacker.run(), "taskSpec": attacker.spec(bad)}, "task_spec"),
        (f"{RUNS}/ListRuns", {"projectId": {"name": attacker.project, "domain": DOMAIN}, "request": {"filters": [
            {"function": "EQUAL", "field": "phase", "values": [bad]}]}}, "request.filters[0].values[0]"),
    ):
        for _ in range(10):
            attacker.refused(procedure, body, "invalid_argument", field, "NUL")
        run = victim.run()
        victim.done(f"{RUNS}/CreateRun", {"runId": run, "taskSpec": victim.spec("true")})
    assert logged(server, "postgres rejected a transaction") == before


@pytest.mark.parametrize("name", ["../x", "..", ".", "a/b", "a\\b", "a\u202eb", "a b", "../../standing/a0"])
def test_08_no_action_has_the_place_of_another(attacker: Tenant, victim: Victim, name: str):
    attacker.refused(f"{ACTIONS}/Enqueue", attacker.condition(attacker.root, name), "invalid_argument", "action.action_id.name: ")
    attacker.refused(f"{RUNS}/CreateRun", {"runId": attacker.run(name), "taskSpec": attacker.spec("true")}, "invalid_argument", "run_id.name: ")


def test_11_a_project_named_like_a_namespace_of_others_runs_nothing_there(server: Server, admin: Browser):
    """Someone else's namespace has the name that the pods of a new project would go to."""
    name = f"billing-{DOMAIN}"
    kubernetes(server, "api/v1/namespaces", {"metadata": {"name": name}})
    newcomer = Tenant(server, admin, "billing")
    run = newcomer.start("true")
    message = json.dumps(newcomer.reaches(run, "FAILED")["errorInfo"])
    assert name in message and "flyte.org/managed" in message, message
    for kind in ("api/v1/namespaces/{}/pods", "apis/flyte.org/v1/namespaces/{}/taskactions"):
        assert kubernetes(server, kind.format(name))["items"] == []
    assert "flyte.org/managed" not in kubernetes(server, f"api/v1/namespaces/{name}")["metadata"].get("labels", {})


def test_17_no_one_archives_a_project_of_others(attacker: Tenant, victim: Victim):
    archived = lambda project: {"project": {"id": project, "name": "taken", "state": "PROJECT_STATE_ARCHIVED"}}  # noqa: E731
    attacker.refused(f"{PROJECTS}/UpdateProject", archived(victim.project), "not_found", f"project {victim.project} does not exist, or you may not see it")
    attacker.refused(f"{PROJECTS}/UpdateProject", archived(attacker.project), "permission_denied", "project.update is not allowed")


def test_18_no_one_acts_in_the_name_of_others(admin: Browser, attacker: Tenant, victim: Victim):
    """A request that says who it comes from is believed in nothing: not in what is shown, nor in the record."""
    forged = {"user": {"id": {"subject": victim.key}}}
    attacker.done(f"{ACTIONS}/Enqueue", attacker.condition(attacker.root, "forged", subject=victim.key))
    attacker.done(f"{ACTIONS}/Abort", {"actionId": {"run": attacker.root, "name": "forged"}, "abortedBy": forged, "reason": "no reason"})
    details = attacker.details(attacker.root, "forged")
    for who in (details["metadata"]["executedBy"], details["abortInfo"]["abortedBy"]):
        assert who["application"]["id"]["subject"] == attacker.key and victim.key not in json.dumps(who), who
    made_by = lambda key: json.dumps(attacker.done(f"{RUNS}/ListActions", {"runId": attacker.root, "request": {"limit": 200, "filters": [  # noqa: E731
        {"function": "EQUAL", "field": "created_by", "values": [key]}]}}).get("actions", []))
    assert '"forged"' in made_by(attacker.key) and made_by(victim.key) == "[]", "nor is it in a list of what the victim has made"
    search = {"subject": attacker.key, "permission": "action.abort", "outcome": "succeeded"}
    recorded = lambda: json.dumps(admin.call("flytebinary.access.v1.AuditService/SearchAudit", search).get("events", []))  # noqa: E731
    eventually(lambda: attacker.root["name"] in recorded(), what="the record of the abort")
    theirs = admin.call("flytebinary.access.v1.AuditService/SearchAudit", {"subject": victim.key, "permission": "action.abort"}).get("events", [])
    assert attacker.project not in json.dumps(theirs)


def test_19_no_project_has_the_place_of_the_uploads(attacker: Tenant, admin: Browser):
    attacker.refused(f"{PROJECTS}/CreateProject", {"project": {"id": "uploads", "name": "uploads"}}, "not_found")
    with pytest.raises(urllib.error.HTTPError) as refused:
        admin.call(f"{PROJECTS}/CreateProject", {"project": {"id": "uploads", "name": "uploads"}})
    answer = json.loads(refused.value.read())
    assert answer["code"] == "invalid_argument" and "is reserved" in answer["message"], answer


def kubernetes(server: Server, path: str, body: dict | None = None) -> dict:
    """A call of the demo's API server, as its administrator."""
    config = yaml.safe_load((server.data / "kubernetes" / "kubeconfig").read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    trusted = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    request = urllib.request.Request(
        f"{cluster['server']}/{path}", data=json.dumps(body).encode() if body else None,
        headers={"Authorization": f"Bearer {user['token']}", "Content-Type": "application/json"})
    with urllib.request.urlopen(request, context=trusted, timeout=60) as answer:
        return json.loads(answer.read())
