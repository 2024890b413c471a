"""Apps through the released command line, on the local node: deployed, changed, killed, stopped, started and deleted."""

import json
import os
import pathlib
import shutil
import signal
import socket
import urllib.error
import urllib.request

import flyte.remote as remote
import pytest

from conftest import ROOT, command_line
from server import Server, eventually

pytestmark = pytest.mark.usefixtures("sdk")


def fetch(server: Server, name: str, path: str = "") -> tuple[int, str]:
    """The answer of an app through the gateway."""
    url = f"http://{server.endpoint}/apps/flytesnacks/development/{name}/{path}"
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()
    except OSError as broken:
        return 0, str(broken)


def greeting(server: Server) -> dict:
    status, body = fetch(server, "fast", "greeting")
    return json.loads(body) if status == 200 else {}


def revision(name: str) -> int:
    return remote.App.get(name=name).pb2.metadata.revision


def test_command_app(server: Server, warm_command, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch):
    # A folder of its own: other tests write compiled files alongside theirs.
    code = tmp_path / "code"
    code.mkdir()
    shutil.copy(ROOT / "flows" / "apps.py", code)
    cli = command_line(server, tmp_path, code, warm_command)
    with socket.socket() as free:  # the program has its port in its arguments
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("E2E_APP_PORT", str(free.getsockname()[1]))
    cli("serve", "apps.py", "files")
    status, body = fetch(server, "files")
    assert status == 200 and "Directory listing" in body, body
    # Without a change there is no new revision; with one, the old process stops first: both have one port. What `serve` chooses
    # as the version may differ between two calls.
    for _ in range(2):
        cli("deploy", "--version", "same", "apps.py", "files")
        assert revision("files") == 2
    monkeypatch.setenv("E2E_GREETING", "two")
    cli("serve", "apps.py", "files")
    assert revision("files") == 3
    assert fetch(server, "files")[0] == 200
    cli("delete", "app", "files")
    eventually(lambda: fetch(server, "files")[0] == 404)


def test_fastapi_app(server: Server, cli, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("E2E_GREETING", "one")
    cli("serve", "flows/web_app.py", "fast")
    first = greeting(server)
    assert first["greeting"] == "one", first
    assert "fast" in cli("get", "app")

    monkeypatch.setenv("E2E_GREETING", "two")
    cli("serve", "flows/web_app.py", "fast")
    assert revision("fast") == 2
    eventually(lambda: greeting(server).get("greeting") == "two")

    # A process that dies is started again without anybody's help.
    pid = greeting(server)["pid"]
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: greeting(server).get("pid", pid) != pid)

    cli("update", "app", "fast", "--deactivate", "--wait")
    status, body = fetch(server, "fast", "greeting")
    assert status in (404, 503), body
    cli("update", "app", "fast", "--activate", "--wait")
    eventually(lambda: greeting(server).get("greeting") == "two")

    cli("delete", "app", "fast")
    eventually(lambda: fetch(server, "fast", "greeting")[0] == 404)
