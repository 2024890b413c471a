"""Tokens of an identity provider end while a stream of the released SDK is open: the server ends the stream, the SDK asks its command
for another token and begins again, as often as it takes."""

from __future__ import annotations

import base64
import http.server
import json
import os
import pathlib
import subprocess
import sys
import threading
import time

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from conftest import ABORTED_AT_EXIT, ROOT
from server import Server, eventually
from test_access import COLOURS, FLYTE, configured

# How long a token is accepted. The clocks of server and provider may differ by a minute, so a token is accepted for a minute longer
# than it says: these have expired when they are made.
ACCEPTED, SKEW = 8, 60
LIFETIMES = 4


def text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Provider:
    """An identity provider: its keys, and tokens for a program."""

    def __init__(self):
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.tokens = 0
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.url = f"http://localhost:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def handler(self):
        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = provider.answer(self.path)
                self.send_response(200)
                self.send_header("Content-Type", "application/json" if self.path != "/token" else "text/plain")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        return Handler

    def answer(self, path: str) -> bytes:
        if path == "/token":
            self.tokens += 1
            return self.token().encode()
        if path == "/keys":
            numbers = self.key.public_key().public_numbers()
            n, e = (text(number.to_bytes((number.bit_length() + 7) // 8, "big")) for number in (numbers.n, numbers.e))
            return json.dumps({"keys": [{"kty": "RSA", "kid": "1", "alg": "RS256", "use": "sig", "n": n, "e": e}]}).encode()
        return json.dumps({
            "issuer": self.url, "authorization_endpoint": f"{self.url}/authorize", "token_endpoint": f"{self.url}/exchange",
            "jwks_uri": f"{self.url}/keys", "id_token_signing_alg_values_supported": ["RS256"],
        }).encode()

    def token(self) -> str:
        now = int(time.time())
        claims = {"iss": self.url, "sub": "eve", "aud": "flyte", "iat": now - SKEW, "exp": now - SKEW + ACCEPTED}
        signed = ".".join(text(json.dumps(part).encode()) for part in ({"alg": "RS256", "kid": "1", "typ": "JWT"}, claims))
        return f"{signed}.{text(self.key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


@pytest.fixture(scope="module")
def provider():
    made = Provider()
    yield made
    made.http.shutdown()


@pytest.fixture(scope="module")
def installation(provider: Provider, tmp_path_factory: pytest.TempPathFactory):
    """A demo that accepts the tokens of the provider."""
    issuers, bindings = [{"name": "Short", "url": provider.url, "clientID": "flyte"}], [{"user": "eve", "role": "contributor"}]
    instance = Server(
        tmp_path_factory.mktemp("provider"), "--access",
        "--set", f"access.issuers={json.dumps(issuers)}", "--set", f"access.bindings={json.dumps(bindings)}")
    instance.start()
    yield instance
    instance.stop()


def begun(installation: Server, provider: Provider, folder: pathlib.Path, *words: str) -> subprocess.Popen:
    """A command that gets its tokens from the provider, by a program of the user."""
    program = f"import urllib.request; print(urllib.request.urlopen('{provider.url}/token', timeout=60).read().decode())"
    config = configured(installation, folder / "config.yaml", authType="ExternalCommand", command=[sys.executable, "-c", program])
    env = {**os.environ, "COLUMNS": "500", "NO_COLOR": "1", "TERM": "dumb", "PYTHONUNBUFFERED": "1", "FLYTE_DISABLE_SENTRY": "1"}
    started = [sys.executable, words[0], config, *words[1:]] if words[0].endswith(".py") else [FLYTE, "--config", config, *words]
    return subprocess.Popen(started, env=env, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def continued(installation: Server, process: subprocess.Popen, provider: Provider, folder: pathlib.Path) -> str:
    """Lets the task end once every token that a command can have got has ended, some times over. Returns what it has printed."""
    printed: list[str] = []
    reader = threading.Thread(target=lambda: printed.extend(process.stdout), daemon=True)
    reader.start()
    output = lambda: COLOURS.sub("", "".join(printed))  # noqa: E731
    eventually(lambda: process.poll() is not None or (folder / "begun").exists(), what=f"the task; {output()}")
    for _ in range(LIFETIMES):
        headers = {"Authorization": f"Bearer {provider.token()}"}
        status, answer = eventually(
            lambda: told if (told := installation.call("flyteidl2.auth.IdentityService/UserInfo", {}, headers))[0] != 200 else None,
            what="the end of a token")
        assert status == 401 and "it expired at" in answer["message"], answer
        assert process.poll() is None, output()
    (folder / "go").touch()
    status = process.wait(timeout=600)
    reader.join(60)
    assert status in (0, ABORTED_AT_EXIT), output()
    return output()


def test_logs_outlive_the_tokens_of_a_provider(installation: Server, provider: Provider, tmp_path: pathlib.Path):
    tmp_path.chmod(0o777)
    process = begun(installation, provider, tmp_path, "run", "--follow", "flows/lasting.py", "lasting", "--folder", str(tmp_path))
    output = continued(installation, process, provider, tmp_path)
    assert "the line after" in output, output
    assert output.count("the line before") == 1, "no line is shown twice"


WATCHER = """
import sys
import flyte, flyte.remote
from lasting import lasting
flyte.init_from_config(sys.argv[1])
run = flyte.run(lasting, folder=sys.argv[2])
print("watching", flush=True)
run.wait()
print("outputs", run.outputs(), flush=True)
"""


def test_a_watch_outlives_the_tokens_of_a_provider(installation: Server, provider: Provider, tmp_path: pathlib.Path):
    tmp_path.chmod(0o777)
    program = tmp_path / "watcher.py"
    program.write_text("import sys\nsys.path.insert(0, %r)\n%s" % (str(ROOT / "flows"), WATCHER))
    process, before = begun(installation, provider, tmp_path, str(program), str(tmp_path)), provider.tokens
    output = continued(installation, process, provider, tmp_path)
    assert "lasted" in output, output
    assert provider.tokens >= before + LIFETIMES, "it has got a token each time"
