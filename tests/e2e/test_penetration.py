"""Each known attack, by one tenant of a server on another: the attacker may do in its own project what contributors may, and has no
role in the victim's. docs/attacks.md has the list. After each attack, the victim's work goes on, its data are what they were, and its
next run ends well; no answer to the attacker has anything of the victim."""

from __future__ import annotations

import base64
import concurrent.futures
import contextlib
import gzip
import http.server
import json
import os
import pathlib
import re
import select
import signal
import socket
import ssl
import threading
import urllib.error
import urllib.request
import uuid

import pytest
import yaml

from server import Server, alive, eventually
from tenants import ACTIONS, CUT, DOMAIN, PROJECTS, PROXY, RUNS, Tenant, Victim, put
from test_access import Browser
from test_retention import retention

# Limits are so small that an attack of seconds exceeds them.
SETTINGS = (
    "runs.writer.maxSubtree=100", "executor.reconciler.workers=2", "server.bodyTimeout=3s",
    "runs.webhooks.allow=192.0.2.0/24",  # and so not this machine, which demos otherwise allow
    "server.connectionsPerClient=300", "health.oldestWrite=1s", "runs.stored.projects=hoard bytes=1000000",
    "runs.stored.interval=1s", "runs.stored.nearInterval=1s",
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, home):
    folder = tmp_path_factory.mktemp("tenants")
    instance = Server(folder, "--access", *(word for setting in SETTINGS for word in ("--set", setting)))
    instance.start()
    yield instance
    instance.stop()


@pytest.fixture(scope="module")
def admin(server: Server) -> Browser:
    browser = Browser(server, "admin")
    browser.sign_in()
    return browser


@pytest.fixture(scope="module")
def victim(server: Server, admin: Browser, tmp_path_factory: pytest.TempPathFactory) -> Victim:
    return Victim(server, admin, "orchard", tmp_path_factory.mktemp("victim"))


@pytest.fixture(scope="module")
def attacker(server: Server, admin: Browser, victim: Victim, tmp_path_factory: pytest.TempPathFactory):
    tenant = Tenant(server, admin, "quarry")
    tenant.secrets = [victim.mark, victim.token, victim.key]
    folder = tmp_path_factory.mktemp("attacker")
    tenant.root = tenant.start(f"until [ -e {folder}/go ]; do sleep 0.2; done")  # a run of its own that goes on
    tenant.reaches(tenant.root, "RUNNING")
    yield tenant
    (folder / "go").touch()


@pytest.fixture(scope="module")
def sleeper(server: Server, admin: Browser, attacker: Tenant) -> tuple[Tenant, dict]:
    """A run of 20 s whose first action has no process, and children that never end by themselves; in another project of the attacker, so
    that retention leaves it."""
    tenant = Tenant(server, admin, "quarry-sleeps")
    run = tenant.run()
    tenant.done(f"{RUNS}/CreateRun", {"runId": run, "taskSpec": tenant.spec("", type="core-sleep"), "inputs": {"literals": [
        {"name": "duration", "value": {"scalar": {"primitive": {"duration": "20s"}}}}]}})
    tenant.reaches(run, "RUNNING")
    for name in ("one", "two"):
        tenant.done(f"{ACTIONS}/Enqueue", tenant.condition(run, name))
    return tenant, run


@pytest.fixture(autouse=True)
def afterwards(victim: Victim):
    yield
    victim.unharmed()


def metric(server: Server, admin: Browser, pattern: str) -> float:
    """The sum of the series of /metrics whose lines match a pattern."""
    _, text = admin.open("/metrics")
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if re.match(pattern, line))


def logged(server: Server, *words: str) -> int:
    """How many lines of the server's log have all the words."""
    lines = (server.data / "logs" / "server.log").read_text(errors="replace").splitlines()
    return sum(all(word in line for word in words) for line in lines)


@pytest.mark.usefixtures("sleeper")
def test_01_the_abort_of_many_actions_stops_no_one_else(attacker: Tenant, victim: Victim):
    """1,500 actions are aborted in portions, between which others write, and not in one transaction."""
    parent = attacker.start("sleep 3600")
    attacker.reaches(parent, "RUNNING")

    def enqueue(number: int) -> None:
        def answered() -> bool:
            status, answer = attacker.call(f"{ACTIONS}/Enqueue", attacker.condition(parent, f"c{number}"))
            assert status in (200, 429), answer  # a limit of requests, which is each caller's own
            return status == 200
        eventually(answered, what=f"the enqueue of c{number}")

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(enqueue, range(1500)))
    attacker.done(f"{RUNS}/AbortRun", {"runId": parent})
    for _ in range(3):
        victim.done(f"{RUNS}/CreateRun", {"runId": (run := victim.run()), "taskSpec": victim.spec("true")})
        victim.done(f"{RUNS}/AbortRun", {"runId": run})
    for name in ("c0", "c750", "c1499"):
        attacker.reaches(parent, "ABORTED", name)
    children = eventually(lambda: ended_children(attacker, parent), what="the end of all actions")
    assert len(children) == 1500
    assert len({child["status"]["endTime"] for child in children}) >= 1500 / 100, "no transaction aborts more than runs.writer.maxSubtree"


def ended_children(tenant: Tenant, run: dict) -> list[dict] | None:
    """All conditions of a run; nothing while one of them has not ended."""
    found, token = [], ""
    while True:
        page = tenant.done(f"{RUNS}/ListActions", {"runId": run, "request": {"limit": 200, "token": token}})
        found += [action for action in page["actions"] if action["id"]["name"] != "a0"]
        if any("endTime" not in action["status"] for action in found):
            return None
        if not (token := page.get("token", "")):
            return found


def test_02_a_page_of_the_attacker_cannot_use_the_victims_browser(server: Server, victim: Victim):
    """The browser sends the victim's session with each request, and the page chooses the rest, but for these headers."""
    browser = victim.person()

    def sent(run: dict, **headers: str) -> int:
        body = json.dumps({"runId": run, "taskSpec": victim.spec("true")}).encode()
        request = urllib.request.Request(f"{server.url}/{RUNS}/CreateRun", data=body, headers={"Content-Type": "application/json", **headers})
        try:
            with browser.opener.open(request, timeout=60) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    evil = "http://evil.example"
    for status, headers in (
        (421, {"Host": f"evil.example:{server.port}", "Origin": f"{evil}:{server.port}", "Sec-Fetch-Site": "same-origin"}),
        (403, {"Origin": evil, "Sec-Fetch-Site": "cross-site"}), (403, {"Sec-Fetch-Site": "cross-site"}), (403, {"Origin": "null"}),
        (403, {"Origin": f"http://localhost:{server.port + 1}", "Sec-Fetch-Site": "same-site"}),
    ):
        run = victim.run()
        assert sent(run, **headers) == status, headers
        victim.refused(f"{RUNS}/GetRunDetails", {"runId": run}, "not_found")
    assert sent(victim.run(), Origin=server.url, **{"Sec-Fetch-Site": "same-origin"}) == 200, "a page of the server may"


def peak(pid: int) -> int:
    """The most memory that a process has had since the last reset, in bytes."""
    return int(re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) * 1024


def test_03_a_message_that_unpacks_to_a_gigabyte_is_refused_before_it_is_decoded(server: Server, attacker: Tenant):
    """16 KiB on the wire are 8 million empty messages, which took 0.6 GB at least."""
    pathlib.Path(f"/proc/{server.process.pid}/clear_refs").write_text("5")  # the peak is what it is now
    before, empty = peak(server.process.pid), b"\x0a\x00" * (8 << 20)
    length, size = b"", len(empty)
    while size:
        length, size = length + bytes([size & 127 | (128 if size > 127 else 0)]), size >> 7
    for procedure, body, code in (
        ("flyteidl2.workflow.InternalRunService/RecordActionEvents", empty, "permission_denied"),
        (f"{PROXY}/UploadInputs", b"\x32" + length + empty, "resource_exhausted"),
        (f"{RUNS}/GetRunDetails", empty, "resource_exhausted"),
    ):
        request = urllib.request.Request(f"{server.url}/{procedure}", data=gzip.compress(body), headers={
            "Content-Type": "application/proto", "Content-Encoding": "gzip", "Authorization": f"Bearer {attacker.token}"})
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=300)
        answer = json.loads(refused.value.read())
        assert answer["code"] == code, (procedure, answer)
    assert peak(server.process.pid) - before < 256 << 20


def test_04_pipes_in_the_place_of_outputs_stop_no_other_task(attacker: Tenant, victim: Victim):
    """There are more of them than the executor has workers, so that one that waited for each would start nothing more."""
    runs = [attacker.start("mkdir -p {{.outputPrefix}}; mkfifo {{.outputPrefix}}/error.pb {{.outputPrefix}}/outputs.pb; exit 1") for _ in range(4)]
    for run in runs:
        attacker.reaches(run, "FAILED")
        attacker.call(f"{RUNS}/GetActionData", {"actionId": {"run": run, "name": "a0"}})


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


def test_08_children_end_with_an_action_that_no_process_runs(sleeper: tuple[Tenant, dict]):
    """They stayed unfinished forever, after their parent had ended."""
    tenant, run = sleeper
    tenant.reaches(run, "SUCCEEDED")
    for name in ("one", "two"):
        tenant.reaches(run, "ABORTED", name)


@pytest.mark.parametrize("name", ["../x", "..", ".", "a/b", "a\\b", "a\u202eb", "a b", "../../standing/a0"])
def test_08_no_action_has_the_place_of_another(attacker: Tenant, victim: Victim, name: str):
    attacker.refused(f"{ACTIONS}/Enqueue", attacker.condition(attacker.root, name), "invalid_argument", "action.action_id.name: ")
    attacker.refused(f"{RUNS}/CreateRun", {"runId": attacker.run(name), "taskSpec": attacker.spec("true")}, "invalid_argument", "run_id.name: ")


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
    blob = {"scalar": {"blob": {"uri": str(victim.bundle), "metadata": {"type": {}}}}}
    attacker.done(f"{RUNS}/CreateRun", {"runId": mine, "taskSpec": attacker.spec("true"), "inputs": {"literals": [{"name": "file", "value": blob}]}})
    attacker.refused(
        "flytebinary.insight.v1.FileService/CreateFileLink", {"actionId": {"run": mine, "name": "a0"}, "uri": str(victim.bundle)},
        "invalid_argument", belongs)
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


def test_12_a_server_that_was_killed_continues_for_both(server: Server, attacker: Tenant, victim: Victim):
    """A demo gave up when its parts took long to start. They have the actions of the attacker's storm to read."""
    runs = {tenant: tenant.run() for tenant in (attacker, victim)}
    for tenant, run in runs.items():
        tenant.done(f"{RUNS}/CreateRun", {"runId": run, "taskSpec": tenant.spec("true")})
    server.kill()
    server.start()
    for tenant, run in runs.items():
        tenant.reaches(run, "SUCCEEDED")
    status = attacker.details(attacker.root)["status"]
    assert (status["phase"], status["attempts"]) == ("ACTION_PHASE_RUNNING", 1), status


def test_13_readiness_tells_that_no_ones_changes_are_stored(server: Server, attacker: Tenant, victim: Victim):
    """Postgres stands still while both tenants start runs: readiness said ok. Afterwards the runs of both end."""
    postmaster = int((server.data / "postgres" / "data" / "postmaster.pid").read_text().split()[0])
    runs = {tenant: tenant.run() for tenant in (attacker, victim)}

    def create(tenant: Tenant) -> bool:
        """A run that is there in the end; a call whose change took too long is unavailable, and is tried again."""
        status, answer = tenant.call(f"{RUNS}/CreateRun", {"runId": runs[tenant], "taskSpec": tenant.spec("true")})
        assert status in (200, 409, 429, 503, 504), answer
        return status in (200, 409)

    def degraded() -> bool:
        try:
            with urllib.request.urlopen(f"{server.url}/readyz", timeout=60) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as error:
            text = error.read().decode()
        return not re.search(r"^writes: ok", text, re.M) or not re.search(r"^database: ok", text, re.M)

    assert not degraded()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        stopped = stop_all(postmaster)
        try:
            created = [pool.submit(eventually, lambda tenant=tenant: create(tenant), what=f"a run of {tenant.project}") for tenant in runs]
            eventually(degraded, what="readiness that tells it")
        finally:
            for pid in reversed(stopped):
                os.kill(pid, signal.SIGCONT)
        for one in created:
            one.result()
    eventually(lambda: not degraded(), what="readiness that tells the end of it")
    for tenant, run in runs.items():
        tenant.reaches(run, "SUCCEEDED")


def stop_all(parent: int) -> list[int]:
    """Stops a process and its children, which it cannot restart meanwhile."""
    os.kill(parent, signal.SIGSTOP)
    stopped = [parent]
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1]) == parent:
                    os.kill(int(entry.name), signal.SIGSTOP)
                    stopped.append(int(entry.name))
    return stopped


class Listener:
    """A service of the victim on this machine, which counts the calls that it gets."""

    def __init__(self):
        self.calls = 0
        listener = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                listener.calls += 1
                self.send_error(500, "internal words of the victim")

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.http.server_port
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


def test_14_webhooks_reach_no_private_network(attacker: Tenant):
    """By an address, by an address inside of an IPv6 address of a tunnel or a translator, or by a name."""
    service = Listener()
    hosts = ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "169.254.169.254",
             "0.0.0.0", "[fd00::1]", "[fe80::1]", "[2002:7f00:1::1]", "[2002:a00:1::1]", "[64:ff9b::7f00:1]", "[64:ff9b::a00:1]", "[64:ff9b:1::a00:1]",
             "[2001::1]"]
    try:
        for number, host in enumerate(hosts):
            body = attacker.condition(attacker.root, f"calls{number}")
            body["action"]["condition"]["webhook"] = {"url": f"http://{host}:{service.port}/"}
            attacker.done(f"{ACTIONS}/Enqueue", body)
        for number, host in enumerate(hosts):
            def told(number: int = number) -> str:
                return json.dumps(attacker.details(attacker.root, f"calls{number}")["attempts"][-1].get("clusterEvents", ""))
            message = eventually(lambda: text if "calling the webhook" in (text := told()) else None, what=f"the end of a call of {host}")  # noqa: B023
            assert "must not be called; see runs.webhooks.allow" in message, message
            attacker.done(f"{ACTIONS}/Abort", {"actionId": {"run": attacker.root, "name": f"calls{number}"}})
        assert service.calls == 0
    finally:
        service.http.shutdown()


def test_15_no_page_of_another_local_server_may_call(server: Server, victim: Victim):
    """Any local server was allowed by default, in whose pages the victim's browser sends its session."""
    browser = victim.person()
    origin = "http://localhost:3000"
    for method, headers in (("OPTIONS", {"Access-Control-Request-Method": "POST"}), ("POST", {"Content-Type": "application/json"})):
        request = urllib.request.Request(f"{server.url}/{RUNS}/ListRuns", data=b"{}" if method == "POST" else None, method=method, headers={"Origin": origin, **headers})
        try:
            with browser.opener.open(request, timeout=60) as answer:
                status, allowed = answer.status, answer.headers.get("Access-Control-Allow-Origin")
        except urllib.error.HTTPError as error:
            status, allowed = error.code, error.headers.get("Access-Control-Allow-Origin")
        assert allowed is None and (method == "OPTIONS" or status == 403), (method, status, allowed)


def test_16_connections_and_bodies_of_the_attacker_end(server: Server, admin: Browser, attacker: Tenant, victim: Victim):
    """They come from another address of this machine, since the limits of connections are those of an address."""
    refused = lambda: metric(server, admin, r'flyte_port_refused_total\{.*connection')  # noqa: E731
    before = refused()
    header = f"POST /{RUNS}/ListRuns HTTP/1.1\r\nHost: {server.endpoint}\r\nAuthorization: Bearer {attacker.token}\r\n" \
             "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
    with contextlib.ExitStack() as opened:
        slow = set()
        for _ in range(400):
            client = opened.enter_context(socket.socket())
            client.bind(("127.0.0.2", 0))
            client.connect(("127.0.0.1", server.port))
            with contextlib.suppress(ConnectionError):
                client.sendall(header.encode())
            slow.add(client)
        victim.unharmed()
        answers = []

        def all_ended() -> bool:
            for client in select.select(list(slow), [], [], 0.2)[0]:
                with contextlib.suppress(ConnectionError):
                    if got := client.recv(1 << 16):
                        answers.append(got)
                        continue
                slow.discard(client)
            return not slow

        eventually(all_ended, what="the end of all connections")
    assert refused() - before >= 100
    assert any(b"deadline_exceeded" in answer for answer in answers), answers[:3]


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
    events = admin.call("flytebinary.access.v1.AuditService/SearchAudit", {"subject": attacker.key, "permission": "action.abort"})["events"]
    assert any(attacker.root["name"] in json.dumps(event["resources"]) for event in events), events
    theirs = admin.call("flytebinary.access.v1.AuditService/SearchAudit", {"subject": victim.key, "permission": "action.abort"}).get("events", [])
    assert attacker.project not in json.dumps(theirs)


def test_19_no_project_has_the_place_of_the_uploads(attacker: Tenant, admin: Browser):
    attacker.refused(f"{PROJECTS}/CreateProject", {"project": {"id": "uploads", "name": "uploads"}}, "not_found")
    with pytest.raises(urllib.error.HTTPError) as refused:
        admin.call(f"{PROJECTS}/CreateProject", {"project": {"id": "uploads", "name": "uploads"}})
    answer = json.loads(refused.value.read())
    assert answer["code"] == "invalid_argument" and "is reserved" in answer["message"], answer


def test_20_refused_calls_do_not_fill_the_log(server: Server, admin: Browser, attacker: Tenant, victim: Victim):
    """Ten lines a minute are written of each kind, and the metric counts the rest. The record has each call of someone who has signed in,
    the victim's among them."""
    procedure = f"{PROJECTS}/UpdateProject"
    counted = lambda: metric(server, admin, rf'flyte_rpc_refused_total\{{.*procedure="/{procedure}"')  # noqa: E731
    written = lambda: logged(server, "call refused", procedure)  # noqa: E731
    change = lambda tenant: {"project": {"id": tenant.project, "name": "refused"}}  # noqa: E731
    before, lines = counted(), written()
    for _ in range(300):
        attacker.refused(procedure, change(attacker), "permission_denied")
        status, _ = server.call(procedure, change(victim))
        assert status == 401
    victim.refused(procedure, change(victim), "permission_denied")
    assert counted() - before == 601
    assert 0 < written() - lines <= 60, "for two kinds and up to three minutes"
    search = {"subject": victim.key, "permission": "project.update", "outcome": "refused"}
    recorded = lambda: admin.call("flytebinary.access.v1.AuditService/SearchAudit", search).get("events", [])  # noqa: E731
    eventually(lambda: any(victim.project in json.dumps(event["resources"]) for event in recorded()), what="the record of the victim's call")


def test_21_no_one_fills_the_store(server: Server, admin: Browser, victim: Victim):
    """A signed address stores one content, however often it is used, and a project that has too much gets no more of them."""
    hoarder = Tenant(server, admin, "hoard")
    content = os.urandom(600_000)
    status, location = hoarder.upload(content)
    assert status == 200, location
    assert [put(location, content) for _ in range(3)] == [200] * 3, "the same content again"
    assert put(location, content[::-1]) in (400, 403, 412, CUT), "other content"
    assert put(location, content + b"more") in (400, 403, 413, CUT), "more content"
    assert pathlib.Path(location["nativeUrl"]).read_bytes() == content

    def full() -> bool:
        status, answer = hoarder.upload(os.urandom(500_000), filename=f"{uuid.uuid4().hex}.bin")
        if status == 200:
            return False
        assert answer["code"] == "resource_exhausted" and "project hoard has" in answer["message"], answer
        return True

    for _ in range(2):
        more = os.urandom(500_000)
        status, location = hoarder.upload(more, filename=f"{uuid.uuid4().hex}.bin")
        if status == 200:
            put(location, more)
    eventually(full, what="the refusal of an upload")
    hoarder.refused(f"{RUNS}/CreateRun", {"runId": hoarder.run(), "taskSpec": hoarder.spec("true")}, "resource_exhausted", "project hoard has")
    status, location = victim.upload(more, filename="after.bin")
    assert status == 200 and put(location, more) == 200, location


def test_22_the_node_shows_a_log_to_its_own_tenant_alone(attacker: Tenant, victim: Victim):
    """The logs of both come over the certificates of one node. That they are renewed while it runs is a test of the node, with a clock."""
    run = attacker.start("echo of the attacker; sleep 3600")
    attacker.reaches(run, "RUNNING")
    eventually(lambda: "of the attacker" in attacker.log(run), what="the attacker's own log")
    eventually(lambda: victim.mark in victim.log(victim.standing), what="the victim's own log")
    assert '"not_found"' in attacker.log(victim.standing)
    assert '"not_found"' in victim.log(run)
    attacker.done(f"{RUNS}/AbortRun", {"runId": run})


SHOWS = """
import http.server, json
class Shows(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({name.replace("-", "_").upper(): value for name, value in self.headers.items()}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
http.server.ThreadingHTTPServer(("", 8080), Shows).serve_forever()
"""


def test_second_03_no_one_calls_an_app_in_the_name_of_others(server: Server, attacker: Tenant, victim: Victim):
    """The app of the victim takes hyphens and underscores for the same. The attacker may not call it, and the victim's own program cannot be
    another one there."""
    container = {"image": "python", "command": ["python", "-u", "-c", SHOWS], "ports": [{"containerPort": 8080}],
                 "resources": {"requests": [{"name": "CPU", "value": "50m"}, {"name": "MEMORY", "value": "100Mi"}]}}
    for tenant in (attacker, victim):
        tenant.done("flyteidl2.app.AppService/Create", {"app": {"metadata": {"id": {**tenant.place, "name": "shows"}}, "spec": {
            "container": container, "desiredState": "DESIRED_STATE_ACTIVE", "autoscaling": {"replicas": {"min": 1, "max": 1}},
            "creator": {"user": {"id": {"subject": victim.key}}}}}})
    forged = {name: victim.key for name in ("X_Flyte_Subject", "X-Flyte_Subject", "X_FLYTE_EMAIL", "X_Flyte_Caller", "Remote_User", "X-Forwarded-User")}

    def get(tenant: Tenant, owner: Tenant) -> tuple[int, str]:
        request = urllib.request.Request(
            f"{server.url}/apps/{owner.project}/{DOMAIN}/shows/", headers={"Authorization": f"Bearer {tenant.token}", **forged})
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    for tenant in (attacker, victim):
        eventually(lambda tenant=tenant: get(tenant, tenant)[0] == 200, what=f"the app of {tenant.project}")
        known = json.loads(get(tenant, tenant)[1])
        assert known["X_FLYTE_SUBJECT"] == tenant.key, known
        assert tenant is victim or victim.key not in json.dumps(known), known
    status, text = get(attacker, victim)
    assert status == 404 and victim.key not in text, text
    assert victim.key not in json.dumps(attacker.done("flyteidl2.app.AppService/Get", {"appId": {**attacker.place, "name": "shows"}}))
    attacker.refused("flyteidl2.app.AppService/Get", {"appId": {**victim.place, "name": "shows"}}, "not_found")
    for tenant in (attacker, victim):
        tenant.done("flyteidl2.app.AppService/Delete", {"appId": {**tenant.place, "name": "shows"}})


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


def test_second_10_a_task_that_stops_its_supervisor_is_ended(attacker: Tenant, tmp_path: pathlib.Path):
    tmp_path.chmod(0o777)
    run = attacker.start(f"echo $$$$ > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/pid; kill -STOP $PPID; exec sleep 3600")
    eventually((tmp_path / "pid").exists, what="the task")
    pid = int((tmp_path / "pid").read_text())
    attacker.done(f"{RUNS}/AbortRun", {"runId": run})
    eventually(lambda: not alive(pid), what="the end of its process")
    attacker.reaches(run, "ABORTED")
