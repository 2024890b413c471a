"""Where the server authenticates its callers, tasks call it with their own tokens, and can do no more than they need."""

import base64
import json
import pathlib
import ssl
import urllib.error
import urllib.request

import pytest
import yaml

from conftest import command_line
from server import Server, eventually

ROOT = pathlib.Path(__file__).resolve().parent
PLACE = {"project": "flytesnacks", "domain": "development"}
OTHER = {"project": "flytesnacks", "domain": "production"}
RUNS = "flyteidl2.workflow.RunService"


class Guarded:
    """A demo with access control, with the tasks of flows/guarded.py in two places."""

    def __init__(self, server: Server):
        self.server, self.count = server, 0
        self.internal = (server.data / "secrets" / "internal-token").read_text().strip()

    def call(self, procedure: str, body: dict) -> dict:
        """As a service of the installation."""
        status, answer = self.server.call(procedure, body, {"X-Flyte-Internal-Token": self.internal})
        assert status == 200, (procedure, status, answer)
        return answer

    def start(self, task: str, inputs: dict | None = None, place: dict = PLACE) -> dict:
        """Starts a run of a deployed task; its identifier."""
        self.count += 1
        run = {**place, "name": f"guarded{self.count}"}
        literals = [{"name": name, "value": {"scalar": {"primitive": {kind: value}}}} for name, (kind, value) in (inputs or {}).items()]
        self.call(f"{RUNS}/CreateRun", {
            "runId": run, "taskId": {**place, "name": task, "version": "v1"}, "inputs": {"literals": literals},
        })
        return run

    def action(self, run: dict) -> dict:
        return self.call(f"{RUNS}/GetActionDetails", {"actionId": {"run": run, "name": "a0"}})["details"]

    def ended(self, run: dict) -> dict:
        def details():
            found = self.action(run)
            return found if found["status"]["phase"] in ("ACTION_PHASE_SUCCEEDED", "ACTION_PHASE_FAILED", "ACTION_PHASE_ABORTED") else None

        return eventually(details, what=f"the end of {run['name']}")

    def result(self, run: dict):
        """The output of a run."""
        details = self.ended(run)
        assert details["status"]["phase"] == "ACTION_PHASE_SUCCEEDED", details
        data = self.call(f"{RUNS}/GetActionData", {"actionId": {"run": run, "name": "a0"}})
        return data["outputs"]["literals"][0]["value"]

    def told(self, run: dict) -> dict:
        return json.loads(self.result(run)["scalar"]["primitive"]["stringValue"])

    def objects(self) -> str:
        """Everything in Kubernetes but the Secrets, as the API server tells it."""
        config = yaml.safe_load((self.server.data / "kubernetes" / "kubeconfig").read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        trusted = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        told = []
        for path in ("api/v1/pods", "api/v1/events", "api/v1/configmaps", "apis/apps/v1/deployments", "apis/flyte.org/v1/taskactions"):
            request = urllib.request.Request(f"{cluster['server']}/{path}", headers={"Authorization": f"Bearer {user['token']}"})
            with urllib.request.urlopen(request, context=trusted, timeout=60) as answer:
                told.append(answer.read().decode())
        return "\n".join(told)

    def tries(self, task: str, calls: list, place: dict = PLACE) -> dict:
        return self.told(self.start(task, {"calls": ("stringValue", json.dumps(calls))}, place))


@pytest.fixture(scope="module")
def guarded(tmp_path_factory, home):
    folder = tmp_path_factory.mktemp("guarded")
    server = Server(folder)
    server.start()
    cli = command_line(server, folder)
    for place in (PLACE, OTHER):
        cli("deploy", "--version", "v1", "--project", place["project"], "--domain", place["domain"], "--all", "flows/guarded.py")
    server.stop()
    server.flags = (
        "--set", "access.local.enabled=true", "--set", "access.local.adminPassword=correct horse battery staple",
    )
    server.start()
    yield Guarded(server)
    server.stop()


@pytest.fixture
def victim(guarded: Guarded, tmp_path: pathlib.Path):
    """A run in another domain that goes on until the test ends, and the folder that it uses."""
    tmp_path.chmod(0o777)
    run = guarded.start("guarded.holds", {"folder": ("stringValue", str(tmp_path))}, OTHER)
    eventually((tmp_path / "endpoint").exists, what="the victim")
    yield run
    (tmp_path / "go").touch()
    guarded.ended(run)


def plain(url: str, body: dict) -> int:
    request = urllib.request.Request(url, data=json.dumps(body).encode(), headers={"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def test_nobody_gets_in_without_a_credential(guarded: Guarded):
    for procedure, body in (
        (f"{RUNS}/ListRuns", {"org": "local"}), (f"{RUNS}/CreateRun", {"projectId": {"name": "flytesnacks", "domain": "development"}}),
        ("flyteidl2.actions.ActionsService/Signal", {}), ("flyteidl2.dataproxy.DataProxyService/CreateUploadLocation", PLACE),
    ):
        assert guarded.server.call(procedure, body)[0] == 401, procedure


def test_a_parent_and_its_children_run(guarded: Guarded):
    run = guarded.start("guarded-root.family", {"n": ("integer", "3")})
    values = [item["scalar"]["primitive"]["integer"] for item in guarded.result(run)["collection"]["literals"]]
    assert [int(value) for value in values] == [6, 0, 3, 6]


def test_a_task_cannot_reach_what_belongs_to_others(guarded: Guarded, victim: dict):
    action = {"run": victim, "name": "a0"}
    hidden = {
        "read a run": (f"{RUNS}/GetRunDetails", {"runId": victim}),
        "read data": (f"{RUNS}/GetActionData", {"actionId": action}),
        "read data by the proxy": ("flyteidl2.dataproxy.DataProxyService/GetActionData", {"actionId": action}),
        "link to data": ("flyteidl2.dataproxy.DataProxyService/CreateDownloadLink", {
            "artifactType": "ARTIFACT_TYPE_REPORT", "actionAttemptId": {"actionId": action, "attempt": 1}}),
        "abort a run": (f"{RUNS}/AbortRun", {"runId": victim}),
        "abort an action": ("flyteidl2.actions.ActionsService/Abort", {"actionId": action}),
        "signal": ("flyteidl2.actions.ActionsService/Signal", {"actionId": action}),
        "set the state": ("flyteidl2.actions.ActionsService/Update", {"actionId": action, "attempt": 1, "status": {"phase": "ACTION_PHASE_SUCCEEDED"}}),
        "enqueue": ("flyteidl2.actions.ActionsService/Enqueue", {"action": {"actionId": {"run": victim, "name": "x"}, "parentActionName": "a0"}}),
        "upload": ("flyteidl2.dataproxy.DataProxyService/CreateUploadLocation", {**OTHER, "filename": "x", "contentMd5": "1B2M2Y8AsgTpgAmY7PhCfg=="}),
        "upload inputs": ("flyteidl2.dataproxy.DataProxyService/UploadInputs", {"runId": victim}),
        "start a run": (f"{RUNS}/CreateRun", {"projectId": {"name": OTHER["project"], "domain": OTHER["domain"]}, "taskId": {**OTHER, "name": "guarded.account", "version": "v1"}}),
        "a task of theirs": (f"{RUNS}/CreateRun", {"runId": {**PLACE, "name": "stolen"}, "taskId": {**OTHER, "name": "guarded.account", "version": "v1"}}),
        "list runs": (f"{RUNS}/ListRuns", {"projectId": {"name": OTHER["project"], "domain": OTHER["domain"]}}),
        "read a task": ("flyteidl2.task.TaskService/GetTaskDetails", {"taskId": {**OTHER, "name": "guarded.account", "version": "v1"}}),
    }
    refused = {
        "secrets": ("flyteidl2.secret.SecretService/ListSecrets", {"limit": 1, **PLACE}),
        "a secret": ("flyteidl2.secret.SecretService/GetSecret", {"id": {"name": "x", **PLACE}}),
        "settings": ("flyteidl2.settings.SettingsService/GetSettings", {"key": PLACE}),
        "a role": ("flytebinary.access.v1.AccessService/CreateBinding", {"binding": {}}),
        "a key": ("flytebinary.access.v1.KeyService/CreateKey", {"name": "x"}),
        "values of secrets": ("flytebinary.engine.v1.SecretValueService/GetSecretValues", {**PLACE, "names": ["x"]}),
        "another token": ("flytebinary.engine.v1.TaskTokenService/IssueTaskToken", {}),
        "deploy": ("flyteidl2.task.TaskService/DeployTask", {"taskId": {**PLACE, "name": "x", "version": "v1"}}),
    }
    calls = [[name, *what] for name, what in {**hidden, **refused}.items()]
    told = guarded.tries("guarded.attempts_all", calls)
    assert {name: told[name][0] for name in hidden} == {name: 404 for name in hidden}, told
    assert {name: told[name][0] for name in refused} == {name: 403 for name in refused}, told
    assert guarded.action(victim)["status"]["phase"] == "ACTION_PHASE_RUNNING"


def test_a_task_changes_its_own_run_alone(guarded: Guarded, tmp_path: pathlib.Path):
    tmp_path.chmod(0o777)
    neighbour = guarded.start("guarded.holds", {"folder": ("stringValue", str(tmp_path))})
    eventually((tmp_path / "endpoint").exists, what="the neighbour")
    told = guarded.tries("guarded.attempts_all", [
        ["read", f"{RUNS}/GetRunDetails", {"runId": neighbour}],
        ["list", f"{RUNS}/ListRuns", {"org": "local"}],
        ["abort", f"{RUNS}/AbortRun", {"runId": neighbour}],
        ["signal", "flyteidl2.actions.ActionsService/Signal", {"actionId": {"run": neighbour, "name": "a0"}}],
        ["start", f"{RUNS}/CreateRun", {"runId": {**PLACE, "name": "grandchild"}, "taskId": {**PLACE, "name": "guarded.account", "version": "v1"}}],
    ])
    assert {name: answer[0] for name, answer in told.items()} == {"read": 200, "list": 200, "abort": 403, "signal": 403, "start": 200}, told
    assert {run["action"]["id"]["run"]["domain"] for run in json.loads(told["list"][1])["runs"]} == {PLACE["domain"]}
    assert guarded.result({**PLACE, "name": "grandchild"})["scalar"]["primitive"].get("boolean", False) is False, "it has no token for Kubernetes"
    (tmp_path / "go").touch()
    guarded.ended(neighbour)


def test_forged_tokens_are_refused(guarded: Guarded):
    told = guarded.tries("guarded.forges", [["list", f"{RUNS}/ListRuns", {"org": "local"}]])
    assert told.pop("own")[0] == 200
    assert len(told) > 5 and {answer[0] for answer in told.values()} == {401}, told


def test_a_token_ends_with_its_attempt_and_is_nowhere(guarded: Guarded, tmp_path: pathlib.Path):
    tmp_path.chmod(0o777)
    run = guarded.start("guarded.holds", {"folder": ("stringValue", str(tmp_path))})
    eventually((tmp_path / "endpoint").exists, what="the task")
    endpoint = (tmp_path / "endpoint").read_text()
    token = endpoint.split("/t/")[1]
    listing = (f"{endpoint}/{RUNS}/ListRuns", {"org": "local"})
    assert plain(*listing) == 200
    guarded.server.call(f"t/{token}/flyteidl2.secret.SecretService/ListSecrets", {"limit": 1, **PLACE})  # a denial is logged and audited
    guarded.server.call(f"t/{token}x/{RUNS}/ListRuns", {"org": "local"})
    objects = guarded.objects()
    assert "$(FLYTE_TASK_TOKEN)" in objects and "guarded" in objects
    (tmp_path / "go").touch()
    guarded.ended(run)
    eventually(lambda: plain(*listing) == 401, timeout=60, what="the end of the token")
    for where, text in {"objects": objects, "later objects": guarded.objects(), "log": guarded.server.log.read_text(errors="replace")}.items():
        assert token not in text, where
    for path, content in guarded.server.files():
        assert token.encode() not in content, path
