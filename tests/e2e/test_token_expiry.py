"""Access tokens end in the middle of a run. The command line that waits for it renews them, and does not ask the person again; the
tasks have tokens of their own, which last as long as their attempts."""

from __future__ import annotations

import base64
import json
import os
import pathlib
import re
import subprocess
import threading
import urllib.parse
import urllib.request

import pytest

from conftest import ABORTED_AT_EXIT, ROOT
from server import Server, eventually
from test_access import COLOURS, FLYTE, Browser, configured, made_key

CHILDREN = 200
LINK = re.compile(r"https?://localhost:\d+/access/device\S*user_code=\S+")


@pytest.fixture(scope="module")
def brief(tmp_path_factory: pytest.TempPathFactory):
    """A demo whose access tokens are valid for ten seconds."""
    instance = Server(tmp_path_factory.mktemp("brief"), "--access", "--set", "access.sessions.token=10s")
    instance.start()
    yield instance
    instance.stop()


class Following:
    """`flyte run --follow` by a person whose browser allows each device."""

    def __init__(self, server: Server, folder: pathlib.Path, *words: str):
        self.browser, self.links, self.text = Browser(server, "contributor"), [], ""
        config = configured(server, folder / "config.yaml", authType="DeviceFlow")
        env = {**os.environ, "COLUMNS": "500", "NO_COLOR": "1", "TERM": "dumb", "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            [FLYTE, "--config", config, *words], env=env, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self) -> None:
        for line in self.process.stdout:
            self.text += COLOURS.sub("", line)
            for link in LINK.findall(COLOURS.sub("", line)):
                if link not in self.links:
                    self.links.append(link)
                    self.allow(link)

    def allow(self, link: str) -> None:
        _, page = self.browser.sign_in(link) if len(self.links) == 1 else self.browser.open(link)
        code = re.search(r'name="user_code"[^>]* value="([^"]+)"', page)[1]
        assert "Signed in" in self.browser.open("/access/device", user_code=code, answer="allow")[1]

    def end(self) -> None:
        status = self.process.wait(timeout=600)
        self.reader.join(60)
        assert status in (0, ABORTED_AT_EXIT), self.text


def token_of(server: Server, key: dict) -> str:
    """An access token of a program, as long-lived as all others."""
    request = urllib.request.Request(
        f"{server.url}/access/oauth2/token", data=urllib.parse.urlencode({"grant_type": "client_credentials"}).encode(),
        headers={"Authorization": "Basic " + base64.b64encode(f"{key['key']['id']}:{key['secret']}".encode()).decode()})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read())["access_token"]


def test_a_run_outlives_its_access_tokens(brief: Server, tmp_path: pathlib.Path):
    tmp_path.chmod(0o777)
    key = made_key(brief)
    following = Following(brief, tmp_path, "run", "--follow", "--name", "outlives", "flows/expiring.py", "many", "--n", str(CHILDREN), "--folder", str(tmp_path))
    eventually(lambda: following.process.poll() is not None or (tmp_path / "half").exists(), what=f"half of the children; {following.text}")
    assert following.process.poll() is None, following.text
    asked = len(following.links)

    # A token that is issued now ends after all that the command has got until now.
    headers = {"Authorization": f"Bearer {token_of(brief, key)}"}
    whoami = ("flyteidl2.auth.IdentityService/UserInfo", {}, headers)
    assert brief.call(*whoami)[0] == 200
    status, answer = eventually(lambda: told if (told := brief.call(*whoami))[0] != 200 else None, what="the end of the token")
    assert status == 401 and "the access token has expired" in answer["message"], answer
    (tmp_path / "go").touch()
    following.end()
    assert len(following.links) == asked, "the person is not asked again"

    internal = {"X-Flyte-Internal-Token": (brief.data / "secrets" / "internal-token").read_text().strip()}
    run = {"project": "flytesnacks", "domain": "development", "name": "outlives"}
    actions, token = [], ""
    while True:
        status, page = brief.call("flyteidl2.workflow.RunService/ListActions", {"runId": run, "request": {"limit": 200, "token": token}}, internal)
        assert status == 200, page
        actions += page["actions"]
        token = page.get("token", "")
        if not token:
            break
    assert len(actions) == CHILDREN + 1
    assert {action["status"]["phase"] for action in actions} == {"ACTION_PHASE_SUCCEEDED"}
    assert {action["status"]["attempts"] for action in actions} == {1}, "no attempt was lost"
