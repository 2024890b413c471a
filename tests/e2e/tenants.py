"""Two tenants of one server: a project for each, and programs with keys that have a role there and nowhere else."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import pathlib
import struct
import urllib.error
import urllib.request
import uuid

from server import Server, eventually
from test_access import Browser

DOMAIN = "development"
RUNS, ACTIONS = "flyteidl2.workflow.RunService", "flyteidl2.actions.ActionsService"
PROXY, PROJECTS = "flyteidl2.dataproxy.DataProxyService", "flyteidl2.project.ProjectService"
ENDED = ("ACTION_PHASE_SUCCEEDED", "ACTION_PHASE_FAILED", "ACTION_PHASE_ABORTED", "ACTION_PHASE_TIMED_OUT")


class Tenant:
    """A project, and a program that may do in it what contributors may."""

    def __init__(self, server: Server, admin: Browser, project: str):
        self.server, self.admin, self.project, self.secrets = server, admin, project, []
        self.place = {"project": project, "domain": DOMAIN}
        admin.call(f"{PROJECTS}/CreateProject", {"project": {"id": project, "name": project, "domains": [{"id": DOMAIN, "name": DOMAIN}]}})
        made = admin.call("flytebinary.access.v1.KeyService/CreateKey", {
            "name": project, "roles": [{"role": "contributor", "scope": {"project": project}}]})
        self.key, self.token = made["key"]["id"], made["secret"]
        self.blobs = server.data / "blobs" / project / DOMAIN

    def call(self, procedure: str, body: dict, headers: dict | None = None) -> tuple[int, dict]:
        """The status and the answer of a call, in which nothing is that this tenant must never see."""
        status, answer = self.server.call(procedure, body, {"Authorization": f"Bearer {self.token}", **(headers or {})})
        self.sees(json.dumps(answer))
        return status, answer

    def sees(self, text: str) -> None:
        """Fails if this tenant got something of another."""
        for secret in self.secrets:
            assert secret not in text, f"{self.project} got {secret}: {text}"

    def done(self, procedure: str, body: dict) -> dict:
        """The answer of a call that must succeed."""
        status, answer = self.call(procedure, body)
        assert status == 200, (procedure, status, answer)
        return answer

    def refused(self, procedure: str, body: dict, code: str, *words: str) -> str:
        """The message of a call that must be refused, with a code and with words."""
        status, answer = self.call(procedure, body)
        assert status != 200 and answer.get("code") == code, (procedure, status, answer)
        for word in words:
            assert word in answer["message"], answer["message"]
        return answer["message"]

    def run(self, name: str | None = None) -> dict:
        """The identifier of a run; without a name, of one that does not exist yet."""
        return {**self.place, "name": name or f"r{uuid.uuid4().hex[:16]}"}

    def spec(self, command: str, **template: object) -> dict:
        """A task that runs a command of the shell."""
        container = {"image": "python", "command": ["sh", "-ec"], "args": [command],
                     "resources": {"requests": [{"name": "CPU", "value": "50m"}, {"name": "MEMORY", "value": "50Mi"}]}}
        return {"taskTemplate": {"id": {**self.place, "name": "tenants.task", "version": "1"}, "type": "raw-container", "container": container, **template}}

    def start(self, command: str, name: str | None = None, text: str = "", **request: object) -> dict:
        """Starts a run of a command. Its input is a text."""
        run = self.run(name)
        literal = {"name": "text", "value": {"scalar": {"primitive": {"stringValue": text}}}}
        self.done(f"{RUNS}/CreateRun", {"runId": run, "taskSpec": self.spec(command), "inputs": {"literals": [literal]}, **request})
        return run

    def details(self, run: dict, action: str = "a0") -> dict:
        return self.done(f"{RUNS}/GetActionDetails", {"actionId": {"run": run, "name": action}})["details"]

    def phase(self, run: dict, action: str = "a0") -> str:
        return self.details(run, action)["status"]["phase"].removeprefix("ACTION_PHASE_")

    def reaches(self, run: dict, phase: str, action: str = "a0") -> dict:
        """Waits until an action has a phase, and returns its details. It must not end otherwise."""
        def found():
            details = self.details(run, action)
            now = details["status"]["phase"]
            assert now == f"ACTION_PHASE_{phase}" or now not in ENDED, details
            return details if now == f"ACTION_PHASE_{phase}" else None
        return eventually(found, what=f"{phase} of {run['name']}/{action}")

    def log(self, run: dict) -> str:
        """What the first attempt of a run has printed so far, as its log is followed; or the error of the call."""
        body = json.dumps({"actionId": {"run": run, "name": "a0"}, "attempt": 1, "primaryPod": True}).encode()
        request = urllib.request.Request(
            f"{self.server.url}/{PROXY}/TailLogs", data=b"\0" + struct.pack(">I", len(body)) + body,
            headers={"Content-Type": "application/connect+json", "Authorization": f"Bearer {self.token}"})
        text = ""
        with contextlib.suppress(TimeoutError), urllib.request.urlopen(request, timeout=5) as answer:
            while True:
                flag, length = struct.unpack(">BI", answer.read(5))
                part = answer.read(length).decode()
                text += part
                if flag & 2:
                    break
        self.sees(text)
        return text

    def condition(self, run: dict, name: str, **fields: object) -> dict:
        """What Enqueue takes for a condition below the first action of a run."""
        folder = str(self.blobs / run["name"] / name)
        return {"action": {"actionId": {"run": run, "name": name}, "parentActionName": "a0", "inputUri": folder, "runOutputBase": folder,
                           "condition": {"name": name, "type": {"simple": "BOOLEAN"}}, **fields}}

    def upload(self, content: bytes, **fields: object) -> tuple[int, dict]:
        """Asks for a place for a file."""
        digest = base64.b64encode(hashlib.md5(content).digest()).decode()
        return self.call(f"{PROXY}/CreateUploadLocation", {**self.place, "filename": "fast.tgz", "contentMd5": digest, "expiresIn": "600s", **fields})


class Victim(Tenant):
    """A tenant with work that goes on, and data that no one else may read, change or delete."""

    def __init__(self, server: Server, admin: Browser, project: str, folder: pathlib.Path):
        super().__init__(server, admin, project)
        self.mark, self.go = f"sesame-{uuid.uuid4().hex}", folder / "go"
        status, location = self.upload(self.mark.encode())
        assert status == 200, location
        self.bundle = pathlib.Path(location["nativeUrl"])
        put(location, self.mark.encode())
        self.done("flyteidl2.secret.SecretService/CreateSecret", {
            "id": {**self.place, "name": "password"}, "secretSpec": {"stringValue": f"{self.mark}-password"}})
        self.standing = self.start(f"echo {self.mark}; until [ -e {self.go} ]; do sleep 0.2; done", "standing", self.mark)
        self.reaches(self.standing, "RUNNING")
        self.done(f"{ACTIONS}/Enqueue", self.condition(self.standing, "waits"))

    def person(self) -> Browser:
        """The browser of someone new who may do the same, and has signed in."""
        name, secret = f"{self.project}-{uuid.uuid4().hex}", uuid.uuid4().hex
        self.admin.call("flytebinary.access.v1.AccountService/CreateAccount", {"account": {"name": name}, "password": secret})
        self.admin.call("flytebinary.access.v1.AccessService/CreateBinding", {
            "member": {"kind": "MEMBER_KIND_USER", "name": name}, "role": "contributor", "scope": {"project": self.project}})
        browser = Browser(self.server, name, secret)
        browser.sign_in()
        return browser

    def works(self) -> dict:
        """Runs a task, which ends well and has its data. Returns the run."""
        run = self.start("echo works", text=self.mark)
        assert self.reaches(run, "SUCCEEDED")["status"]["attempts"] == 1
        assert self.mark in self.input(run)
        return run

    def input(self, run: dict) -> str:
        return json.dumps(self.done(f"{RUNS}/GetActionData", {"actionId": {"run": run, "name": "a0"}})["inputs"])

    def unharmed(self) -> None:
        """Fails if something of this tenant is not as it was, or if it cannot work."""
        status = self.details(self.standing)["status"]
        assert (status["phase"], status["attempts"]) == ("ACTION_PHASE_RUNNING", 1), status
        assert self.phase(self.standing, "waits") == "PAUSED"
        assert self.mark in self.input(self.standing)
        assert self.bundle.read_bytes() == self.mark.encode()
        found = self.done(f"{PROJECTS}/GetProject", {"id": self.project})["project"]
        assert found.get("state", "PROJECT_STATE_ACTIVE") == "PROJECT_STATE_ACTIVE" and found["name"] == self.project, found
        self.works()


#: The status of an upload whose connection the server closed before it had read all: it may answer first, and the client misses that.
CUT = 0


def put(location: dict, content: bytes) -> int:
    """Uploads a file to a place that was given; the status."""
    digest = base64.b64encode(hashlib.md5(content).digest()).decode()
    request = urllib.request.Request(
        location["signedUrl"], data=content, method="PUT", headers={**location.get("headers", {}), "Content-MD5": digest})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except urllib.error.URLError as error:
        if isinstance(error.reason, ConnectionError):
            return CUT
        raise
