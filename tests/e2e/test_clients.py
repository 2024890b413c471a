"""Clients other than the SDK: plain JSON, reflection, gRPC, a browser of another origin; and bad input."""

import base64
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import flyte.remote as remote
import pytest
from conftest import connect
from server import Server

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROJECT = {"organization": "x", "domain": "development", "name": "flytesnacks"}


def buf() -> str:
    found = ROOT / "tools" / "node_modules" / ".bin" / "buf"
    assert found.exists(), "run `make tools` first: buf is missing"
    return str(found)


def test_plain_json(server: Server):
    status, answer = server.call("flyteidl2.workflow.RunService/ListRuns", {"projectId": PROJECT})
    assert status == 200 and isinstance(answer.get("runs", []), list)


def test_errors_are_connect_json(server: Server):
    status, answer = server.call("flyteidl2.workflow.RunService/GetRunDetails", {})
    assert status == 400
    assert answer["code"] == "invalid_argument"
    assert "run_id" in answer["message"]


@pytest.mark.parametrize("protocol", ["connect", "grpc", "grpcweb"])
def test_buf_curl_by_reflection(server: Server, protocol: str):
    done = subprocess.run(
        [buf(), "curl", "--http2-prior-knowledge", "--protocol", protocol,
         "-d", json.dumps({"project_id": PROJECT}), f"{server.url}/flyteidl2.workflow.RunService/ListRuns"],
        text=True, capture_output=True, timeout=300,
    )
    assert done.returncode == 0, done.stderr
    json.loads(done.stdout)


def test_grpc_health(server: Server):
    done = subprocess.run(
        [buf(), "curl", "--http2-prior-knowledge", "--protocol", "grpc", "-d", "{}", f"{server.url}/grpc.health.v1.Health/Check"],
        text=True, capture_output=True, timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "SERVING" in done.stdout


def test_unbuilt_rpc_is_unimplemented(server: Server):
    """Story R35: services that released clients call returned an HTML page."""
    status, answer = server.call("flyteidl2.none.NoneService/None", {})
    assert answer["code"] == "unimplemented", (status, answer)


def test_internal_rpcs_are_closed(server: Server):
    for procedure in (
        "flyteidl2.workflow.InternalRunService/RecordActionEvents",
        "flyteidl2.workflow.EventsProxyService/Record",
        "flytebinary.engine.v1.EngineService/RecordTransitions",
    ):
        status, answer = server.call(procedure, {})
        assert answer.get("code") in ("permission_denied", "unauthenticated"), (procedure, status, answer)


def browser() -> str:
    for name in ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"):
        found = shutil.which(name)
        if found:
            return found
    pytest.fail("no Chromium: run `make setup`")


def test_browser_fetch_across_origins(server: Server, tmp_path: pathlib.Path):
    """A page of another local server may not call the API, not even with a request that needs no preflight."""
    import functools
    import http.server
    import threading

    (tmp_path / "index.html").write_text(f"""<!doctype html><body>waiting<script>
      fetch("{server.url}/flyteidl2.workflow.RunService/ListRuns", {{method: "POST",
        headers: {{"Content-Type": "application/json", "Connect-Protocol-Version": "1"}},
        body: JSON.stringify({{projectId: {json.dumps(PROJECT)}}})}})
        .then(r => r.json().then(j => document.body.textContent = "fetched " + r.status))
        .catch(e => fetch("{server.url}/flyteidl2.project.ProjectService/CreateProject", {{method: "POST", mode: "no-cors",
            body: JSON.stringify({{project: {{id: "from-a-page", name: "x"}}}})}}))
        .then(() => document.body.textContent = "refused");
    </script></body>""")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        done = subprocess.run(
            [browser(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=10000", "--dump-dom",
             f"http://localhost:{other.server_address[1]}/index.html"],
            text=True, capture_output=True, timeout=300,
        )
        other.shutdown()
    assert "<body>refused" in done.stdout, done.stdout + done.stderr[-2000:]
    refused, _ = server.call("flyteidl2.project.ProjectService/GetProject", {"id": "from-a-page"})
    assert refused == 404


def test_rebound_name_is_refused(server: Server):
    """A page whose name is pointed at this machine is of the server's origin for the browser, but not under its name."""
    status, answer = server.call(
        "flyteidl2.workflow.RunService/ListRuns", {"projectId": PROJECT},
        headers={"Host": "evil.example:8088", "Origin": "http://evil.example:8088", "Sec-Fetch-Site": "same-origin"},
    )
    assert status == 421 and "server.allowedHosts" in str(answer)


def test_foreign_origin_is_not_echoed(server: Server):
    request = urllib.request.Request(
        f"{server.url}/flyteidl2.workflow.RunService/ListRuns", method="OPTIONS",
        headers={"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "POST"},
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            allowed = answer.headers.get("Access-Control-Allow-Origin")
    except urllib.error.HTTPError as error:
        allowed = error.headers.get("Access-Control-Allow-Origin")
    assert allowed is None


def upload(server: Server, body: bytes, **fields) -> tuple[int, dict]:
    request = {"project": "flytesnacks", "domain": "development", "filename": "a.bin",
               "contentMd5": base64.b64encode(hashlib.md5(body).digest()).decode(), "expiresIn": "60s", **fields}
    return server.call("flyteidl2.dataproxy.DataProxyService/CreateUploadLocation", request)


def put(url: str, body: bytes, headers: dict) -> int:
    request = urllib.request.Request(url, data=body, method="PUT", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def md5_header(body: bytes) -> dict:
    return {"Content-MD5": base64.b64encode(hashlib.md5(body).digest()).decode()}


def test_upload(server: Server):
    status, location = upload(server, b"payload")
    assert status == 200, location
    assert put(location["signedUrl"], b"payload", {**location.get("headers", {}), **md5_header(b"payload")}) in (200, 201, 204)
    assert pathlib.Path(location["nativeUrl"]).read_bytes() == b"payload"


def test_uploads_stay_what_they_were(server: Server, tmp_path: pathlib.Path):
    """Nobody who knows the name of a code bundle, or of a file, can put other content in its place."""
    connect(server)
    bundle = tmp_path / "bundle.tgz"
    bundle.write_bytes(b"good code")
    _, uri = remote.upload_file(bundle)
    assert remote.upload_file(bundle)[1] == uri, "the same content again"
    name = pathlib.Path(uri)
    status, answer = upload(server, b"evil code", filename=name.name, filenameRoot=name.parent.name)
    assert status == 400 and "filename_root" in answer["message"], answer
    assert name.read_bytes() == b"good code"

    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "one.bin").write_bytes(b"one")
    uri = pathlib.Path(remote.upload_dir(folder))
    status, location = upload(server, b"evil", filename="one.bin", filenameRoot=uri.name)
    assert status == 200, location
    assert put(location["signedUrl"], b"evil", {**location.get("headers", {}), **md5_header(b"evil")}) == 412
    assert put(upload(server, b"one", filename="one.bin", filenameRoot=uri.name)[1]["signedUrl"], b"one", md5_header(b"one")) == 200
    assert (uri / "one.bin").read_bytes() == b"one"


def test_wrong_md5_leaves_nothing(server: Server):
    _, location = upload(server, b"promised")
    code = put(location["signedUrl"], b"different", {**location.get("headers", {}), **md5_header(b"promised")})
    assert code == 400
    assert not pathlib.Path(location["nativeUrl"]).exists()


def test_tampered_link_is_refused(server: Server):
    _, location = upload(server, b"payload two")
    assert put(location["signedUrl"].replace("a.bin", "b.bin"), b"payload two", md5_header(b"payload two")) == 403


@pytest.mark.parametrize("field,value", [
    ("filename", "../../../etc/passwd"), ("filenameRoot", "../../up"), ("filename", "a/../../b"), ("project", "../x"), ("domain", ".."),
])
def test_traversal_is_refused(server: Server, field: str, value: str):
    status, answer = upload(server, b"x", **{field: value})
    assert status in (400, 404), answer
    assert answer["code"] in ("invalid_argument", "not_found"), answer
