"""Where the server authenticates its callers, the job of a connector can call it as its attempt, if the connector is trusted with that."""

from __future__ import annotations

import asyncio
import json
import os
import pathlib
import shutil
import ssl
import subprocess
import sys
import threading

import pytest

from conftest import command_line
from server import Server, eventually, free_port
from test_connectors import FLOWS, Batch
from test_controller_tls import certificate
from test_task_tokens import OTHER, PLACE, RUNS, Guarded, plain

APP = "flytesnacks/development/batch-app"
SECRETS = "flyteidl2.secret.SecretService"


class Encrypted:
    """TLS in front of a port."""

    def __init__(self, folder: pathlib.Path, behind: int):
        self.port, self.behind = free_port(), behind
        files = certificate(folder)
        self.ca = folder / "ca.crt"
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(files["certFile"], files["keyFile"])
        context.set_alpn_protocols(["h2"])
        loop = asyncio.new_event_loop()
        threading.Thread(target=loop.run_forever, daemon=True).start()
        asyncio.run_coroutine_threadsafe(asyncio.start_server(self._serve, "127.0.0.1", self.port, ssl=context), loop).result()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_connection("127.0.0.1", self.behind)
        await asyncio.gather(self._copy(reader, there[1]), self._copy(there[0], writer))

    @staticmethod
    async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while chunk := await source.read(1 << 16):
                sink.write(chunk)
                await sink.drain()
        except OSError:
            pass
        sink.close()


@pytest.fixture(scope="module")
def batch(tmp_path_factory: pytest.TempPathFactory):
    instance = Batch(tmp_path_factory.mktemp("batch"))
    instance.start()
    yield instance
    instance.stop()


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory):
    """The batch system of the app; nothing but its directory."""
    return Batch(tmp_path_factory.mktemp("system"))


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, batch: Batch, system: Batch, home):
    """A demo with access control, whose connectors are a process behind TLS and an app, and may have tokens."""
    folder = tmp_path_factory.mktemp("guarded")
    encrypted = Encrypted(tmp_path_factory.mktemp("tls"), batch.port)
    endpoint = [{"name": "batch", "url": f"https://127.0.0.1:{encrypted.port}", "caFile": str(encrypted.ca), "taskTokens": True}]
    server = Server(folder, "--set", f"connectors.endpoints={json.dumps(endpoint)}", "--set", f"connectors.taskTokenApps={APP}")
    try:
        server.start()
        code = folder / "code"
        code.mkdir()
        for name in "batch_connector.py", "connector_app.py":
            shutil.copy(FLOWS / name, code)
        os.environ["E2E_BATCH_JOBS"] = os.environ["BATCH_JOBS"] = str(system.jobs)
        command_line(server, folder, code)("deploy", "connector_app.py", "connector")
        server.stop()
        server.flags += ("--set", "access.local.enabled=true", "--set", "access.local.adminPassword=correct horse battery staple")
        server.start()
        instance = Guarded(server)
        for place in (PLACE, OTHER):
            instance.call(f"{SECRETS}/CreateSecret", {"id": {"organization": "local", **place, "name": "batch-token"}, "secretSpec": {"stringValue": "hush"}})
        instance.call("flyteidl2.project.ProjectService/CreateProject", {"project": {"id": "elsewhere", "name": "elsewhere"}})
        yield instance
    finally:
        server.stop()


@pytest.fixture(scope="module")
def victim(guarded: Guarded, batch: Batch):
    """A run in another domain."""
    run, _ = begin(guarded, batch, "directory_batch", "victim", OTHER)
    return run


def begin(guarded: Guarded, system: Batch, task: str, word: str, place: dict = PLACE) -> tuple[dict, dict]:
    """Starts a run; its identifier, and the request for its job."""
    guarded.count += 1
    run = {**place, "name": f"connected{guarded.count}"}
    text = {"type": {"simple": "STRING"}}
    template = {
        "id": {"resourceType": "TASK", **place, "name": task, "version": "v1"}, "type": task, "container": {},
        "custom": {"secrets": {"token": "batch-token"}},
        "interface": {name: {"variables": [{"key": key, "value": text}]} for name, key in (("inputs", "word"), ("outputs", "result"))},
    }
    literal = {"name": "word", "value": {"scalar": {"primitive": {"stringValue": word}}}}
    request = {"runId": run, "taskSpec": {"taskTemplate": template}, "inputs": {"literals": [literal]}}
    credential = {"X-Flyte-Internal-Token": guarded.internal}

    def created() -> bool:
        status, answer = guarded.server.call(f"{RUNS}/CreateRun", request, credential)
        assert status == 200 or "no connector serves" in str(answer), answer
        return status == 200

    eventually(created, what="the type is served")
    eventually(lambda: [call for call in system.calls("create") if call["inputs"]["word"] == word], what="the job is created")
    return run, [call for call in system.calls("create") if call["inputs"]["word"] == word][-1]


def program(environment: dict, calls: dict) -> dict:
    """What the program of a job says, which has the variables of the job and nothing else."""
    done = subprocess.run(
        [sys.executable, "batch_program.py"], cwd=FLOWS, env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], **environment},
        input=json.dumps(calls), text=True, capture_output=True, timeout=600,
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def calls_of(own: dict, neighbour: dict, victim: dict) -> tuple[dict, dict]:
    """Calls of a job, and the answer that each gets."""
    allowed = {
        "read its run": (f"{RUNS}/GetRunDetails", {"runId": own}),
        "list": (f"{RUNS}/ListRuns", {"org": "local"}),
        "read a neighbour": (f"{RUNS}/GetRunDetails", {"runId": neighbour}),
    }
    refused = {
        "abort a neighbour": (f"{RUNS}/AbortRun", {"runId": neighbour}),
        "secrets": (f"{SECRETS}/ListSecrets", {"limit": 1, **PLACE}),
        "another token": ("flytebinary.engine.v1.TaskTokenService/IssueTaskToken", {}),
    }
    hidden = {
        "read another domain": (f"{RUNS}/GetRunDetails", {"runId": victim}),
        "list another domain": (f"{RUNS}/ListRuns", {"projectId": {"name": OTHER["project"], "domain": OTHER["domain"]}}),
        "list another project": (f"{RUNS}/ListRuns", {"projectId": {"name": "elsewhere", "domain": PLACE["domain"]}}),
        "abort in another domain": (f"{RUNS}/AbortRun", {"runId": victim}),
    }
    want = dict.fromkeys(allowed, 200) | dict.fromkeys(refused, 403) | dict.fromkeys(hidden, 404)
    return {**allowed, **refused, **hidden}, want


def acts_as_its_attempt(guarded: Guarded, system: Batch, task: str, victim: dict) -> str:
    """Has a job call the server; the token that it had."""
    neighbour, _ = begin(guarded, system, task, f"neighbour of {task}")
    run, create = begin(guarded, system, task, f"calls from {task}")
    environment = create["environment"]
    token = environment["FLYTE_TASK_TOKEN"]
    assert environment["_U_EP_OVERRIDE"] == f"{guarded.server.url}/t/{token}"
    calls, want = calls_of(run, neighbour, victim)
    told = program(environment, calls)
    assert told == {"sdk": run["name"], "calls": want}
    guarded.server.call(f"t/{token}/{SECRETS}/ListSecrets", {"limit": 1, **PLACE})  # a denial is logged and audited
    for spared in neighbour, victim:
        eventually(lambda run=spared: guarded.action(run)["status"]["phase"] == "ACTION_PHASE_RUNNING", what="it runs")

    listing = (f"{environment['_U_EP_OVERRIDE']}/{RUNS}/ListRuns", {"org": "local"})
    assert plain(*listing) == 200
    system.becomes(create["key"], "SUCCEEDED")
    assert guarded.ended(run)["status"]["phase"] == "ACTION_PHASE_SUCCEEDED"
    eventually(lambda: plain(*listing) == 401, timeout=60, what="the end of the token")
    guarded.call(f"{RUNS}/AbortRun", {"runId": neighbour})
    guarded.ended(neighbour)
    return token


def nowhere(guarded: Guarded, token: str) -> None:
    """Fails if the server has written a token anywhere."""
    assert token not in guarded.objects()
    assert token not in guarded.server.log.read_text(errors="replace")
    for path, content in guarded.server.files():
        assert token.encode() not in content, path


def test_a_job_calls_the_server_as_its_attempt(guarded: Guarded, batch: Batch, victim: dict):
    nowhere(guarded, acts_as_its_attempt(guarded, batch, "directory_batch", victim))


def test_an_app_gives_its_jobs_tokens_and_has_one_of_its_own(guarded: Guarded, system: Batch, victim: dict):
    app = {"org": "local", **PLACE, "name": "batch-app"}
    found = guarded.call("flyteidl2.app.AppService/Get", {"appId": app})["app"]
    found["spec"]["container"]["env"].append({"key": "REVISION", "value": "with a token"})  # apps get theirs with their next revision
    guarded.call("flyteidl2.app.AppService/Update", {"app": {key: found[key] for key in ("metadata", "spec")}})

    def serves() -> bool:
        last = guarded.call("flyteidl2.app.AppService/Get", {"appId": app})["app"]["status"]["conditions"][-1]
        return last["revision"] == "2" and last["deploymentStatus"] == "DEPLOYMENT_STATUS_ACTIVE"

    eventually(serves, what="the new revision serves")
    _, create = begin(guarded, system, "app_batch", "as itself")
    eventually(lambda: system.calls("itself"), what="the app calls the server")
    assert system.calls("itself")[-1]["listed"] == {"development": 200, "production": 404}
    system.becomes(create["key"], "SUCCEEDED")
    nowhere(guarded, acts_as_its_attempt(guarded, system, "app_batch", victim))
