"""Doubles of the clouds' APIs that the released connectors call: BigQuery, Snowflake and Databricks. Each checks what it is sent, and
answers as the cloud's documentation says. What is wrong with a request is an error for the caller, and is kept for the test."""

from __future__ import annotations

import datetime
import gzip
import http.server
import ipaddress
import json
import pathlib
import ssl
import threading
import urllib.parse
import uuid

import jwt
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID


def private_key() -> tuple[str, object]:
    """A key as PEM, and its public part."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()
    return pem, key.public_key()


def certificate(folder: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    """A certificate of this machine and its key, as PEM files."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name, now = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "double")]), datetime.datetime.now(datetime.timezone.utc)
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = folder / "double.crt", folder / "double.key"
    files[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    return files


class Cloud:
    """An HTTP server. answer gets each request, and returns the body of the answer; an AssertionError is a wrong request."""

    def __init__(self, tls: tuple[pathlib.Path, pathlib.Path] | None = None):
        self.jobs: dict[str, dict] = {}
        self.cancelled: list[str] = []
        self.wrong: list[str] = []
        self.lock = threading.Lock()
        cloud = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.handle_with(gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)

            def do_GET(self) -> None:
                self.handle_with(b"")

            def handle_with(self, body: bytes) -> None:
                at = urllib.parse.urlsplit(self.path)
                try:
                    with cloud.lock:
                        status, answer = 200, cloud.answer(self.command, at.path, dict(urllib.parse.parse_qsl(at.query)), self.headers, body)
                except Refusal as e:
                    status, answer = e.status, e.body
                except Exception as e:  # an assertion, or a request that has not even the fields
                    cloud.wrong.append(f"{self.command} {self.path}: {e!r}")
                    status, answer = 400, {"error": {"message": repr(e)}}
                text = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *args) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, method: str, path: str, query: dict[str, str], headers, body: bytes) -> dict:
        raise NotImplementedError

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class Refusal(Exception):
    """An error of the cloud, as it answers a request that is in order."""

    def __init__(self, status: int, body: dict):
        super().__init__(status)
        self.status, self.body = status, body


class BigQuery(Cloud):
    """cloud.google.com/bigquery/docs/reference/rest/v2/jobs, and the token endpoint of a service account."""

    def __init__(self) -> None:
        super().__init__()
        self.pem, self.public = private_key()
        self.token = uuid.uuid4().hex

    def account(self) -> str:
        """The key file of the service account."""
        return json.dumps({
            "type": "service_account", "project_id": "warehouse", "private_key_id": "k1", "private_key": self.pem, "client_id": "1",
            "client_email": "flyte@warehouse.iam.gserviceaccount.com", "token_uri": f"http://127.0.0.1:{self.port}/token",
        })

    def answer(self, method, path, query, headers, body):
        if path == "/token":
            form = dict(urllib.parse.parse_qsl(body.decode()))
            assert form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer", form
            claims = jwt.decode(form["assertion"], self.public, algorithms=["RS256"], options={"verify_aud": False})
            assert claims["iss"] == "flyte@warehouse.iam.gserviceaccount.com", claims
            return {"access_token": self.token, "expires_in": 3600, "token_type": "Bearer"}
        assert headers["Authorization"] == f"Bearer {self.token}", "the credential is wrong"
        jobs = "/bigquery/v2/projects/warehouse/jobs"
        if (method, path) == ("POST", jobs):
            job = json.loads(body)
            of = job["jobReference"]
            assert of["projectId"] == "warehouse" and of["location"] == "EU", of
            if "refused" in job["configuration"]["query"]["query"]:
                error = {"reason": "invalidQuery", "message": "Syntax error: refused"}
                raise Refusal(400, {"error": {"code": 400, "message": error["message"], "errors": [error], "status": "INVALID_ARGUMENT"}})
            if of["jobId"] in self.jobs:  # the id of the job is BigQuery's idempotency key
                raise Refusal(409, {"error": {"code": 409, "message": "Already Exists: Job", "errors": [{"reason": "duplicate"}]}})
            self.jobs[of["jobId"]] = {**job, "status": {"state": "RUNNING"}, "agent": headers["User-Agent"]}
            return self.shown(of["jobId"])
        assert path.startswith(jobs + "/"), path
        name, _, verb = path[len(jobs) + 1:].partition("/")
        assert query["location"] == "EU", query
        assert name in self.jobs, name
        if verb == "cancel":
            assert method == "POST", method
            self.cancelled.append(name)
            return {"job": self.shown(name)}
        assert verb == "" and method == "GET", (method, path)
        return self.shown(name)

    def shown(self, name: str) -> dict:
        job = self.jobs[name]
        return {"kind": "bigquery#job", "id": f"warehouse:EU.{name}", **{k: job[k] for k in ("jobReference", "configuration", "status")}}

    def done(self, name: str, **status) -> None:
        with self.lock:
            self.jobs[name]["configuration"]["query"]["destinationTable"] = {"projectId": "warehouse", "datasetId": "_anon", "tableId": "t1"}
            self.jobs[name]["status"] = {"state": "DONE", **status}


class Snowflake(Cloud):
    """What Snowflake's driver for Python calls: the session, statements, and how a statement is."""

    def __init__(self) -> None:
        super().__init__()
        self.pem, self.public = private_key()
        self.token = uuid.uuid4().hex
        self.requests: set[str] = set()
        # The account, the database and the warehouse of each user. The second one is in the documentation of the plugin.
        self.users = {"FLYTE": ("MYORG-MYACCOUNT", "SALES", "SMALL"), "KEVIN": ("PWGJLTH-XKB21544", "FLYTE", "COMPUTE_WH")}

    def answer(self, method, path, query, headers, body):
        if path == "/session/v1/login-request":
            data = json.loads(body)["data"]
            assert data["AUTHENTICATOR"] == "SNOWFLAKE_JWT" and data["LOGIN_NAME"] in self.users, data
            account, database, warehouse = self.users[data["LOGIN_NAME"]]
            claims = jwt.decode(data["TOKEN"], self.public, algorithms=["RS256"])
            assert claims["sub"] == f"{account}.{data['LOGIN_NAME']}", claims
            assert query["databaseName"] == database and query["warehouse"] == warehouse, query
            about = {"databaseName": database, "schemaName": "PUBLIC", "warehouseName": warehouse, "roleName": "R"}
            return good({
                "token": self.token, "masterToken": "m", "validityInSeconds": 3600, "masterValidityInSeconds": 14400, "parameters": [],
                "sessionId": 1, "sessionInfo": about, "serverVersion": "9.0.0",
            })
        if path.startswith("/telemetry/"):
            return good(None)
        assert headers["Authorization"] == f'Snowflake Token="{self.token}"', "the credential is wrong"
        if path == "/queries/v1/query-request":
            assert query["requestId"] not in self.requests, "a request id was sent twice"
            self.requests.add(query["requestId"])
            return self.statement(json.loads(body))
        if path.startswith("/monitoring/queries/"):
            name = path.rsplit("/", 1)[1]
            assert name in self.jobs, name
            return good({"queries": [{"id": name, **self.jobs[name]["shown"]}]})
        assert path == "/session", path
        return good(None)

    def statement(self, order: dict) -> dict:
        text, name = order["sqlText"], str(uuid.uuid4())
        if text.startswith("SELECT SYSTEM$CANCEL_QUERY("):
            self.cancelled.append(text.split("'")[1])
            column = {"name": "C", "type": "text", "nullable": True, "length": 100, "scale": None, "precision": None, "byteLength": 100}
            return good({
                "queryId": name, "rowtype": [column], "rowset": [["terminated"]], "total": 1, "returned": 1, "queryResultFormat": "json",
                "parameters": [], "statementTypeId": 4096, "finalDatabaseName": "SALES", "finalSchemaName": "PUBLIC",
                "finalWarehouseName": "SMALL", "finalRoleName": "R",
            })
        assert order["asyncExec"] is True, order
        if "refused" in text:
            return {"success": False, "code": "001003", "message": "SQL compilation error: refused", "data": {"sqlState": "42000", "queryId": name}}
        self.jobs[name] = {"sql": text, "shown": {"status": "RUNNING"}}
        return {**good({"queryId": name, "getResultUrl": f"/queries/{name}/result"}), "code": "333334"}

    def done(self, name: str, status: str = "SUCCESS", **more) -> None:
        with self.lock:
            self.jobs[name]["shown"] = {"status": status, **more}


def good(data) -> dict:
    return {"success": True, "code": None, "message": None, "data": data}


class Databricks(Cloud):
    """docs.databricks.com/api/workspace/jobs: one-time runs."""

    def __init__(self, tls: tuple[pathlib.Path, pathlib.Path]):
        super().__init__(tls)
        self.token = uuid.uuid4().hex

    def answer(self, method, path, query, headers, body):
        assert headers["Authorization"] == f"Bearer {self.token}", "the credential is wrong"
        verb = path.removeprefix("/api/2.1/jobs/runs/")
        if (method, verb) == ("POST", "submit"):
            job = json.loads(body)
            if job["run_name"] == "refused":
                raise Refusal(400, {"error_code": "INVALID_PARAMETER_VALUE", "message": "no such node type"})
            assert job["new_cluster"]["node_type_id"] == "i3.xlarge" and job["new_cluster"]["docker_image"]["url"], job
            assert job["spark_python_task"]["parameters"][0] == "a0", job
            name = str(1000 + len(self.jobs))
            self.jobs[name] = {**job, "state": {"life_cycle_state": "RUNNING", "state_message": "In run"}}
            return {"run_id": int(name)}
        if (method, verb) == ("GET", "get"):
            return {"job_id": 7, "run_id": int(query["run_id"]), "state": self.jobs[query["run_id"]]["state"]}
        assert (method, verb) == ("POST", "cancel"), (method, path)
        name = json.loads(body)["run_id"]
        assert name in self.jobs, name
        self.cancelled.append(name)
        return {}

    def done(self, name: str, result: str = "SUCCESS", message: str = "") -> None:
        with self.lock:
            self.jobs[name]["state"] = {"life_cycle_state": "TERMINATED", "result_state": result, "state_message": message}
