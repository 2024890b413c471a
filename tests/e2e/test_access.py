"""The ways to sign in, with the released command line against a demo with access control. The port speaks TLS; its certificate is of
an authority that the configuration names."""

from __future__ import annotations

import asyncio
import http.cookiejar
import http.server
import json
import os
import pathlib
import re
import ssl
import subprocess
import sys
import threading
import urllib.parse
import urllib.request

import httpx
import pytest
from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from conftest import ABORTED_AT_EXIT
from server import BINARY, Server, eventually, free_port

COLOURS = re.compile(r"\x1b\[[0-9;]*m")
FLYTE = str(pathlib.Path(sys.executable).parent / "flyte")
ZOES = "a-password-of-zoe"


class Browser:
    """Signs people in on the pages of the server, and keeps their cookies."""

    def __init__(self, server: Server, name: str, secret: str | None = None):
        """Accounts that the demo did not print need a password."""
        self.server, self.name, self.secret = server, name, secret
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))

    def open(self, url: str, **form: str) -> tuple[str, str]:
        """The address and the text of a page; with a form it is posted."""
        data = urllib.parse.urlencode(form).encode() if form else None
        with self.opener.open(urllib.request.Request(urllib.parse.urljoin(self.server.url, url), data=data), timeout=60) as answer:
            return answer.geturl(), answer.read().decode()

    def sign_in(self, url: str = "/access/sign-in") -> tuple[str, str]:
        """Opens a page that asks for an account, and signs in."""
        _, page = self.open(url)
        hidden = dict(re.findall(r'name="(request|return)" value="([^"]*)"', page))
        return self.open("/access/sign-in", name=self.name, password=self.secret or password(self.server, self.name), **hidden)

    def call(self, procedure: str, body: dict) -> dict:
        request = urllib.request.Request(
            f"{self.server.url}/{procedure}", data=json.dumps(body).encode(), headers={"Content-Type": "application/json"})
        with self.opener.open(request, timeout=60) as answer:
            return json.loads(answer.read())


def password(server: Server, name: str) -> str:
    """That of an account, as the demo has printed it."""
    found = re.search(rf"^ +{name} +password (\w+)", server.log.read_text(), re.M)
    assert found, server.tail()
    return found[1]


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory):
    """A demo in which people sign in, with one more account than it has by itself."""
    zoe = json.dumps([{"name": "zoe", "password": ZOES}])
    instance = Server(tmp_path_factory.mktemp("closed"), "--access", "--set", f"access.local.accounts={zoe}")
    instance.start()
    yield instance
    instance.stop()


def authority(server: Server) -> str:
    return str(server.data / "secrets" / "tls" / "authority.crt")


def configured(server: Server, path: pathlib.Path, **admin: object) -> str:
    """A configuration of the command line."""
    settings = {"endpoint": f"dns:///{server.endpoint}", "insecure": False, "caCertFilePath": authority(server), "disableKeyring": True, **admin}
    path.write_text(json.dumps({"admin": settings, "task": {"project": "flytesnacks", "domain": "development"}, "image": {"builder": "remote"}}))
    return str(path)


def whoami(config: str, browse=None, **env: str) -> dict:
    """What `flyte whoami` prints. Where it prints a link, browse opens that."""
    environment = {**os.environ, "BROWSER": "true", "FLYTE_DISABLE_SENTRY": "1", "PYTHONUNBUFFERED": "1", **env}
    done = subprocess.Popen([FLYTE, "--config", config, "whoami"], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    watchdog = threading.Timer(180, done.kill)
    watchdog.start()
    text = ""
    try:
        for line in done.stdout:
            text += COLOURS.sub("", line)
            link = re.search(r"https?://localhost:\d+/access/\S+", text.replace("\n", "")) if browse else None
            if link and browse(link[0].strip()):
                browse = None
        done.wait()
    finally:
        watchdog.cancel()
    found = re.search(r"\{.*\}", text, re.S)
    assert found, text
    who = json.loads(found[0])
    assert "subject" in who, text
    return who


def test_pkce(closed: Server, tmp_path: pathlib.Path):
    """The command line opens a browser, which signs in and brings the code back."""
    page = tmp_path / "browser.py"
    page.write_text(
        "import json, pathlib, sys\n"
        f"sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})\n"
        "from test_access import Browser, Server\n"
        f"server = Server(pathlib.Path({str(closed.folder)!r}))\n"
        f"server.port = {closed.port}\n"
        "Browser(server, 'contributor').sign_in(sys.argv[1])\n")
    command = tmp_path / "browser"
    command.write_text(f"#!/bin/sh\nexec {sys.executable} {page} \"$1\"\n")
    command.chmod(0o755)
    who = whoami(configured(closed, tmp_path / "config.yaml", authType="Pkce"), BROWSER=f"{command} %s &")
    assert who["subject"] == "contributor", who


def test_an_account_of_the_configuration(closed: Server):
    """The demo takes accounts besides its own."""
    zoe = Browser(closed, "zoe", ZOES)
    zoe.sign_in()
    assert zoe.call("flytebinary.access.v1.AccessService/GetMe", {})["subject"] == "zoe"


def test_the_demos_own_configuration(closed: Server):
    """It names the endpoint, the certificate and the way to sign in."""
    text = (closed.data / "config.yaml").read_text()
    assert "insecure: false" in text and authority(closed) in text and "authType: Pkce" in text


class Memory(TokenStorage):
    """Remembers what an agent knows: at first who it is."""

    def __init__(self, redirect: str):
        self.tokens, self.client = None, OAuthClientInformationFull(client_id="flyte-cli", redirect_uris=[redirect], token_endpoint_auth_method="none")

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        raise AssertionError("it is known already")


class Callback(http.server.BaseHTTPRequestHandler):
    """Takes the code that a browser brings."""

    def do_GET(self):
        self.server.brought = dict(urllib.parse.parse_qsl(urllib.parse.urlparse(self.path).query))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


def test_an_agent_finds_where_its_person_signs_in(closed: Server):
    """The reference client of MCP knows the address of the agent's tools and the id of the public client, and finds the rest."""
    with http.server.ThreadingHTTPServer(("localhost", 0), Callback) as listener:
        threading.Thread(target=listener.serve_forever, daemon=True).start()
        redirect = f"http://localhost:{listener.server_port}/callback"
        storage, address = Memory(redirect), f"http://{closed.endpoint}/mcp"  # the public URL of the demo

        async def browse(url: str) -> None:
            await asyncio.to_thread(Browser(closed, "viewer").sign_in, url)

        async def callback() -> tuple[str, str | None]:
            return listener.brought["code"], listener.brought.get("state")

        async def projects() -> str:
            sign_in = OAuthClientProvider(address, OAuthClientMetadata(redirect_uris=[redirect]), storage, browse, callback)
            trusted = ssl.create_default_context(cafile=authority(closed))
            async with httpx.AsyncClient(auth=sign_in, verify=trusted, timeout=60) as client:
                async with streamable_http_client(address, http_client=client) as (reads, writes, _), ClientSession(reads, writes) as one:
                    await one.initialize()
                    return (await one.call_tool("list_projects", {})).content[0].text

        assert "flytesnacks" in asyncio.run(projects())
        listener.shutdown()
    assert storage.tokens.refresh_token, storage.tokens  # it stays signed in


def test_device_flow(closed: Server, tmp_path: pathlib.Path):
    """The command line prints a link, which a browser elsewhere opens."""
    browser = Browser(closed, "viewer")

    def allow(link: str) -> bool:
        if "user_code=" not in link or len(urllib.parse.parse_qs(urllib.parse.urlparse(link).query)["user_code"][0]) < 9:
            return False
        _, page = browser.sign_in(link)
        code = re.search(r'name="user_code"[^>]* value="([^"]+)"', page)[1]
        assert "Signed in" in browser.open("/access/device", user_code=code, answer="allow")[1]
        return True

    who = whoami(configured(closed, tmp_path / "config.yaml", authType="DeviceFlow"), browse=allow)
    assert who["subject"] == "viewer", who


def made_key(closed: Server, role: str = "viewer") -> dict:
    browser = Browser(closed, "admin")
    browser.sign_in()
    return browser.call("flytebinary.access.v1.KeyService/CreateKey", {"name": "e2e", "roles": [{"role": role, "scope": {}}]})


def test_client_secret(closed: Server, tmp_path: pathlib.Path):
    """A program with the id and the secret of an API key."""
    key = made_key(closed)
    secret = tmp_path / "secret"
    secret.write_text(key["secret"])
    config = configured(closed, tmp_path / "config.yaml", authType="ClientSecret", clientId=key["key"]["id"], clientSecretLocation=str(secret))
    assert whoami(config)["subject"] == key["key"]["id"]


# Runs a demo on port 443, makes a key, and lets the command line say who it is with nothing but the variable.
ON_443 = """
import os, pathlib, subprocess, sys
from server import Server
from test_access import FLYTE, authority, made_key
server = Server(pathlib.Path(sys.argv[1]), "--access")
server.port = 443
server.start()
try:
    key = made_key(server)
    env = {**os.environ, "FLYTE_API_KEY": key["flyteApiKey"], "SSL_CERT_FILE": authority(server), "FLYTE_DISABLE_SENTRY": "1"}
    print("made", key["key"]["id"])
    sys.stdout.flush()
    subprocess.run([FLYTE, "whoami"], env=env, cwd=sys.argv[1], timeout=180)
finally:
    server.stop()
"""


def network_namespaces() -> bool:
    """Whether this account may have a network of its own."""
    return subprocess.run(["unshare", "--net", "ip", "link", "set", "lo", "up"], capture_output=True).returncode == 0


@pytest.mark.skipif(not network_namespaces(), reason="takes the right to make a network namespace")
def test_flyte_api_key(tmp_path_factory: pytest.TempPathFactory):
    """FLYTE_API_KEY has no place for a port: the client calls 443, which the server has in a network of its own."""
    folder = tmp_path_factory.mktemp("on-443")
    inside = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", sys.executable, "-c", ON_443, str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parent)}
    done = subprocess.run(inside, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=900)
    key = re.search(r"^made (key-\w+)$", done.stdout, re.M)
    who = re.search(r"\{.*\}", COLOURS.sub("", done.stdout), re.S)
    assert key and who, done.stdout
    assert json.loads(who[0])["subject"] == key[1], done.stdout


def test_external_command(closed: Server, tmp_path: pathlib.Path):
    """A command prints the token: the secret of a key, which is a bearer token by itself."""
    key = made_key(closed)
    config = configured(closed, tmp_path / "config.yaml", authType="ExternalCommand", command=["echo", key["secret"]])
    assert whoami(config)["subject"] == key["key"]["id"]


def test_passthrough(closed: Server):
    """A program that sends the headers itself."""
    key = made_key(closed)
    program = f"""
import flyte, flyte.remote
flyte.init(endpoint="dns:///{closed.endpoint}", insecure=False, ca_cert_file_path={authority(closed)!r}, auth_type="Passthrough",
           project="flytesnacks", domain="development")
with flyte.remote.auth_metadata(("authorization", "Bearer {key["secret"]}")):
    print("subject", flyte.remote.User.get().subject())
"""
    done = subprocess.run([sys.executable, "-c", program], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=180)
    assert f"subject {key['key']['id']}" in done.stdout, done.stdout


def test_no_caller_is_anonymous(closed: Server):
    """Without a token nothing is answered but how to get one."""
    status, answer = closed.call("flyteidl2.auth.IdentityService/UserInfo", {})
    assert (status, answer["code"]) == (401, "unauthenticated"), answer
    status, answer = closed.call("flyteidl2.auth.AuthMetadataService/GetOAuth2Metadata", {})
    assert status == 200 and answer["tokenEndpoint"] == f"{closed.url}/access/oauth2/token", answer
    assert closed.call("flyteidl2.workflow.RunService/ListRuns", {"org": "o"})[0] == 401


def token_of(closed: Server, name: str) -> str:
    """An access token of a person, as the command line gets one by the device flow."""
    _, meta = closed.call("flyteidl2.auth.AuthMetadataService/GetOAuth2Metadata", {})
    _, client = closed.call("flyteidl2.auth.AuthMetadataService/GetPublicClientConfig", {})
    server = Browser(closed, name)
    started = json.loads(server.open(meta["deviceAuthorizationEndpoint"], client_id=client["clientId"])[1])
    _, page = server.sign_in(started["verification_uri_complete"])
    code = re.search(r'name="user_code"[^>]* value="([^"]+)"', page)[1]
    assert "Signed in" in server.open("/access/device", user_code=code, answer="allow")[1]
    grant = {"grant_type": "urn:ietf:params:oauth:grant-type:device_code", "device_code": started["device_code"], "client_id": client["clientId"]}
    return json.loads(server.open(meta["tokenEndpoint"], **grant)[1])["access_token"]


def test_only_mine(closed: Server, tmp_path: pathlib.Path):
    """Each person, and each key, lists what it has made itself, and sees what others have made."""
    callers = {"admin": token_of(closed, "admin"), "contributor": token_of(closed, "contributor"), "viewer": token_of(closed, "viewer")}
    key = made_key(closed, "contributor")
    callers[key["key"]["id"]] = key["secret"]

    def flyte(name: str, *words: str) -> str:
        config = configured(closed, tmp_path / f"{name}.yaml", authType="ExternalCommand", command=["echo", callers[name]])
        done = subprocess.run(
            [FLYTE, "--config", config, *words], cwd=pathlib.Path(__file__).parent / "flows", text=True, timeout=300,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, "FLYTE_DISABLE_SENTRY": "1", "COLUMNS": "400", "NO_COLOR": "1", "HOME": str(tmp_path), "E2E_APP_PORT": str(free_port())})
        assert done.returncode in (0, ABORTED_AT_EXIT), done.stdout
        return COLOURS.sub("", done.stdout)

    def listed(name: str, kind: str, *flags: str) -> str:
        return flyte(name, "--output-format", "json", "get", kind, *flags)

    runs = {}
    for name in (name for name in callers if name != "viewer"):
        started = flyte(name, "run", "--project", "flytesnacks", "--domain", "development", "basic.py", "hello", "--name", "mine")
        runs[name] = re.search(r"/runs/([a-z0-9-]+)", started)[1]
    for name in callers:
        everything, mine = listed(name, "run"), listed(name, "run", "--only-mine")
        assert {run for run in runs.values() if run in everything} == set(runs.values()), everything
        assert {run for run in runs.values() if run in mine} == ({runs[name]} if name in runs else set()), f"{name}: {mine}"
        assert json.loads(re.search(r"\{.*\}", flyte(name, "whoami"), re.S)[0])["subject"] == name

    flyte("contributor", "deploy", "--version", "one", "apps.py", "files")
    assert "files" in listed("viewer", "app")
    assert {name for name in callers if "files" in listed(name, "app", "--only-mine")} == {"contributor"}


def test_the_walk_through(closed: Server, tmp_path: pathlib.Path):
    """What docs/access.md says under "Try it", in its order."""
    page = (pathlib.Path(__file__).parents[2] / "docs" / "access.md").read_text()
    page = re.sub(r"\s+", " ", page[page.index("## Try it"):page.index("## A first installation")])
    tools = str(closed.data / "secrets" / "installation.yaml")
    assert pathlib.Path(tools).stat().st_mode & 0o077 == 0, "it has the password of the database"

    def tool(*words: str) -> tuple[int, str]:
        done = subprocess.run([str(BINARY), *words, "--config", tools], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        return done.returncode, done.stdout

    def run() -> tuple[int, str]:
        done = subprocess.run(
            [FLYTE, "--config", config, "run", "basic.py", "hello", "--name", "walker"], cwd=pathlib.Path(__file__).parent / "flows",
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
            env={**os.environ, "FLYTE_DISABLE_SENTRY": "1", "COLUMNS": "1000", "NO_COLOR": "1", "HOME": str(tmp_path)})
        return done.returncode, COLOURS.sub("", done.stdout)

    config = configured(closed, tmp_path / "viewer.yaml", authType="ExternalCommand", command=["echo", token_of(closed, "viewer")])
    words = "data.upload is not allowed on data in flytesnacks/development to viewer; it takes one of the roles runner, contributor, admin, operator there"
    status, text = run()
    assert status == 1 and words in re.sub(r"[\s│]+", " ", text), text
    assert words in page

    question = ("access", "check", "viewer", "run.create", "flytesnacks/development")
    assert " ".join(question) in page
    status, text = tool(*question)
    assert status == 1 and "needs one of the roles runner" in text, text
    admin = Browser(closed, "admin")
    admin.sign_in()
    admin.call("flytebinary.access.v1.AccessService/CreateBinding", {
        "member": {"kind": "MEMBER_KIND_USER", "name": "viewer"}, "role": "runner", "scope": {"project": "flytesnacks"}})
    status, text = tool(*question)
    assert status == 0 and "the role runner in project flytesnacks" in text, text
    eventually(lambda: run()[0] in (0, ABORTED_AT_EXIT), what="a run of the viewer")

    made = ("keys", "create", "ci", "--role", "runner", "--in", "flytesnacks")
    assert " ".join(made) in page
    status, text = tool(*made)
    assert status == 0, text
    key, secret = re.search(r"key-\w+", text)[0], re.search(r"fbk_\w+", text)[0]
    me = ("flytebinary.access.v1.AccessService/GetMe", {}, {"Authorization": f"Bearer {secret}"})
    status, answer = closed.call(*me)
    assert status == 200 and answer["subject"] == key, answer
    assert tool("keys", "revoke", key)[0] == 0
    eventually(lambda: closed.call(*me)[0] == 401, what="the end of the key")

    status, text = tool("audit", "export")
    assert status == 0 and key in text and secret not in text and '"permission":"binding.create"' in text, text
    status, text = tool("audit", "verify")
    assert status == 0 and "events are as they were written" in text, text
