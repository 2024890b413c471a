"""The API and the controller as processes of their own, with TLS by an authority of one's own and with access control: tasks present
their tokens over https, and these are nowhere else."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import urllib.request

import pytest

from conftest import ABORTED_AT_EXIT, ROOT, environment
from outside import Outside, Replica, slim
from server import eventually, free_port

FLYTE = str(pathlib.Path(sys.executable).parent / "flyte")
INTERNAL = "between the processes of this installation"


class Tap:
    """A relay before a port, which keeps the beginning of what each connection sends."""

    def __init__(self, behind: int):
        self.port, self.behind, self.began = free_port(), behind, []
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        asyncio.run_coroutine_threadsafe(asyncio.start_server(self._serve, "127.0.0.1", self.port), self._loop).result()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_connection("127.0.0.1", self.behind)
        first = await reader.read(1 << 16)
        if first:
            self.began.append(first)
        there[1].write(first)
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

    def only_tls(self) -> None:
        assert self.began, "no one came"
        assert {piece[0] for piece in self.began} == {0x16}, "a connection began without a handshake of TLS"


def certificate(folder: pathlib.Path) -> dict:
    """A certificate for this machine by an authority of its own."""

    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=folder)

    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=authority of the test",
            "-keyout", "ca.key", "-out", "ca.crt")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=flyte", "-keyout", "tls.key", "-out", "tls.csr")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\nextendedKeyUsage=serverAuth\nbasicConstraints=CA:false\n")
    openssl("x509", "-req", "-in", "tls.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names", "-out", "tls.crt")
    for path in folder.glob("ca.crt"):
        path.chmod(0o644)
    return {"certFile": str(folder / "tls.crt"), "keyFile": str(folder / "tls.key")}


def finished(command: subprocess.Popen) -> str:
    """What a command has printed."""
    text, _ = command.communicate(timeout=600)
    assert command.returncode in (0, ABORTED_AT_EXIT), text
    return text


class Apart:
    """An API and a controller. Each reaches the other, and tasks reach the API, through taps."""

    def __init__(self, outside: Outside):
        self.outside = outside
        tls = certificate(outside.folder)
        self.authority = str(outside.folder / "ca.crt")
        self.api, self.controller = Replica(outside, "api"), Replica(outside, "controller")
        self.by_controller, self.by_tasks, self.by_api = Tap(self.api.port), Tap(self.api.port), Tap(self.controller.port)
        common = {"server": {"tls": tls}, "auth": {"internalToken": INTERNAL}, "replicas": {"installation": "apart"}}
        self.change(self.api, "kubernetes", "actions", "executor", **common, target="api",
                    access={"local": {"enabled": True, "adminPassword": "correct horse battery staple"}, "publicURL": f"https://127.0.0.1:{self.api.port}"},
                    clusters=[{"id": "default", "url": f"https://127.0.0.1:{self.by_api.port}"}])
        pod = json.loads(self.controller.config.read_text())["executor"]["pod"]
        pod |= {"endpoint": f"127.0.0.1:{self.by_tasks.port}", "insecure": False, "defaultEnv": [*pod["defaultEnv"], f"SSL_CERT_FILE={self.authority}"]}
        self.change(self.controller, "database", **common, target="controller", controlPlane={"url": f"https://127.0.0.1:{self.by_controller.port}"},
                    executor={"pod": pod})
        os.environ["SSL_CERT_FILE"] = self.authority  # of the processes that are started here

    @staticmethod
    def change(replica: Replica, *without: str, **keys: object) -> None:
        config = {**json.loads(replica.config.read_text()), **keys}
        for key in without:
            config.pop(key, None)
        replica.config.write_text(json.dumps(config))

    def start(self) -> None:
        self.api.start()
        self.controller.start()
        made = slim("keys", "create", "e2e", "--role", "operator", "--config", str(self.api.config))
        assert made.returncode == 0, made.stdout
        self.secret = re.search(r"fbk_\w+", made.stdout)[0]
        self.config = self.outside.folder / "flyte.yaml"
        self.config.write_text(json.dumps({
            "admin": {"endpoint": f"dns:///127.0.0.1:{self.api.port}", "caCertFilePath": self.authority, "authType": "ExternalCommand",
                      "command": ["echo", self.secret], "disableKeyring": True},
            "task": {"project": "flytesnacks", "domain": "development"}, "image": {"builder": "remote"}}))

    def stop(self) -> None:
        self.controller.stop()
        self.api.stop()
        os.environ.pop("SSL_CERT_FILE", None)

    def begin(self, *words: str) -> subprocess.Popen:
        """Starts the command line."""
        return subprocess.Popen([FLYTE, "--config", str(self.config), *words], env=environment(), cwd=ROOT, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def flyte(self, *words: str) -> str:
        return finished(self.begin(*words))

    def call(self, procedure: str, body: dict) -> dict:
        status, answer = self.api.call(procedure, body, {"Authorization": f"Bearer {self.secret}"})
        assert status == 200, answer
        return answer

    def output(self, run: str) -> dict:
        """The output of a run, once it has one."""
        action = {"actionId": {"run": {"project": "flytesnacks", "domain": "development", "name": run}, "name": "a0"}}
        phase = eventually(lambda: found if (found := self.call("flyteidl2.workflow.RunService/GetActionDetails", action)["details"]["status"]["phase"])
                           in ("ACTION_PHASE_SUCCEEDED", "ACTION_PHASE_FAILED") else None, what=f"the end of {run}")
        assert phase == "ACTION_PHASE_SUCCEEDED", self.call("flyteidl2.workflow.RunService/GetActionDetails", action)
        return self.call("flyteidl2.workflow.RunService/GetActionData", action)["outputs"]["literals"][0]["value"]

    def etcd(self) -> dict[str, bytes]:
        """What the store of the API server has, by key."""
        everything = json.dumps({"key": base64.b64encode(b"\0").decode(), "range_end": base64.b64encode(b"\0").decode()}).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.outside.ports['etcd']}/v3/kv/range", data=everything)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return {base64.b64decode(one["key"]).decode(): base64.b64decode(one.get("value", "")) for one in json.loads(answer.read())["kvs"]}


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory, home):
    outside = Outside(tmp_path_factory.mktemp("apart"))
    installation = None
    try:
        outside.start()
        installation = Apart(outside)
        installation.start()
        yield installation
    finally:
        if installation:
            installation.stop()
        outside.stop()


def test_tasks_with_children_over_tls(apart: Apart):
    apart.flyte("run", "--follow", "--name", "nested", "flows/basic.py", "nested", "--depth", "2")
    assert apart.output("nested")["scalar"]["primitive"]["integer"] == "2"
    for tap in (apart.by_controller, apart.by_tasks):
        tap.only_tls()


def test_tokens_are_presented_over_https_and_are_nowhere_else(apart: Apart, tmp_path: pathlib.Path):
    tmp_path.chmod(0o777)
    apart.flyte("run", "--name", "holds", "flows/guarded.py", "holds", "--folder", str(tmp_path))
    eventually((tmp_path / "endpoint").exists, what="the task")
    endpoint = (tmp_path / "endpoint").read_text()
    assert endpoint.startswith(f"https://127.0.0.1:{apart.by_tasks.port}/t/fbt_"), endpoint
    token = endpoint.split("/t/")[1]
    status, _ = apart.api.call(f"t/{token}/flyteidl2.workflow.RunService/ListRuns", {"org": "local"})
    assert status == 200
    logs = apart.begin("get", "logs", "holds")  # the API fetches those of running pods from the controller
    eventually(lambda: apart.by_api.began, what="the API at the controller")
    apart.by_api.only_tls()
    stored = apart.etcd()
    holders = [key for key, value in stored.items() if token.encode() in value]
    assert len(holders) == 1 and holders[0].startswith("/registry/secrets/"), holders
    assert any(b"$(FLYTE_TASK_TOKEN)" in value for key, value in stored.items() if key.startswith("/registry/pods/"))
    (tmp_path / "go").touch()
    apart.output("holds")
    eventually(lambda: apart.api.call(f"t/{token}/flyteidl2.workflow.RunService/ListRuns", {"org": "local"})[0] == 401, what="the end of the token")
    eventually(lambda: not [key for key, value in apart.etcd().items() if token.encode() in value], what="the end of its Secret")
    assert token not in finished(logs)
    for log in [*apart.outside.folder.glob("*.log"), *apart.outside.folder.glob("*/server.log")]:
        assert token.encode() not in log.read_bytes(), log
