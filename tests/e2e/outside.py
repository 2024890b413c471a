"""The server's dependencies as in production, each as a process of its own: Postgres, etcd, a Kubernetes API server, its
controllers, a node, and an S3 object store that checks signatures. And the server itself, run by `serve`."""

from __future__ import annotations

import asyncio
import contextlib
import glob
import itertools
import json
import os
import pathlib
import pwd
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import urllib.error
import urllib.request

from server import BINARY, Server, eventually, free_port, open_to_postgres

ROOT = pathlib.Path(__file__).resolve().parents[2]
SLIM = pathlib.Path(os.environ.get("FLYTE_BINARY_SLIM", BINARY.parent / "flyte-binary-slim"))
TOOLS = pathlib.Path(os.environ.get("KUBEBUILDER_ASSETS", ROOT / ".bin"))
NAMESPACE = "flytesnacks-development"
BUCKET = "flyte"
TOKEN = "of-the-operator"


def need(path: pathlib.Path) -> str:
    assert path.exists(), f"{path} is missing: `make test` builds it"
    return str(path)


class Part:
    """One process, with its own log."""

    def __init__(self, name: str, folder: pathlib.Path, *command: str, user: str | None = None, env: dict | None = None):
        self.name, self.command, self.user, self.env = name, command, user, env
        self.log = folder / f"{name}.log"
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        account = {"user": self.user, "group": pwd.getpwnam(self.user).pw_gid, "extra_groups": []} if self.user else {}
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True, cwd="/",
                env={**os.environ, **(self.env or {})}, **account,
            )

    def stop(self, how: int = signal.SIGTERM) -> None:
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(how)
        try:
            self.process.wait(timeout=300)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def wait(self, works, timeout: float = 600) -> None:
        """Waits until the process works; it must not exit before."""

        def condition() -> bool:
            code = self.process.poll()
            assert code is None, f"{self.name} ended with {code}:\n{self.log.read_text(errors='replace')[-3000:]}"
            return works()

        eventually(condition, timeout=timeout, what=f"{self.name}, see {self.log},")


def accepts(port: int) -> bool:
    import socket

    with contextlib.closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Outside:
    """Everything outside of the server, on free ports and below one directory."""

    def __init__(self, folder: pathlib.Path):
        open_to_postgres(folder)
        self.folder = folder
        self.ports = {name: free_port() for name in ("postgres", "etcd", "peer", "kubernetes", "s3")}
        self.buckets = folder / "buckets"
        self.kubeconfig = folder / "kubeconfig"
        self.parts: dict[str, Part] = {}

    def start(self) -> None:
        for start in (self._postgres, self._object_store, self._kubernetes, self._node):
            start()

    def stop(self) -> None:
        for part in reversed(self.parts.values()):
            part.stop(signal.SIGINT if part.name == "postgres" else signal.SIGTERM)

    def _run(self, name: str, *command: str, **options) -> Part:
        part = self.parts[name] = Part(name, self.folder, *command, **options)
        part.start()
        return part

    # The database.

    def _postgres(self) -> None:
        programs = self._postgres_programs()
        data, secret = self.folder / "postgres", self.folder / "postgres-password"
        data.mkdir(mode=0o700)
        secret.write_text(TOKEN)
        user = "postgres" if os.geteuid() == 0 else None
        if user:
            for path in (data, secret):
                shutil.chown(path, user)
        subprocess.run(
            [programs / "initdb", "-D", data, "-U", "flyte", "-A", "scram-sha-256", f"--pwfile={secret}", "--no-sync", "-E", "UTF8", "--locale=C"],
            check=True, capture_output=True, cwd="/", user=user,
        )
        part = self._run(
            "postgres", str(programs / "postgres"), "-D", str(data), "-h", "127.0.0.1", "-p", str(self.ports["postgres"]),
            "-c", "unix_socket_directories=", "-F", user=user,
        )
        part.wait(lambda: accepts(self.ports["postgres"]))

    @staticmethod
    def _postgres_programs() -> pathlib.Path:
        if "FLYTE_PG_BIN" in os.environ:
            # The user of the server may be unable to follow a link in the checkout.
            return pathlib.Path(os.environ["FLYTE_PG_BIN"]).resolve()
        packaged = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb") + glob.glob("/usr/pgsql-*/bin/initdb"))
        found = packaged[-1] if packaged else shutil.which("initdb")
        assert found, "no initdb found: `make postgres` fetches Postgres"
        return pathlib.Path(found).resolve().parent

    @property
    def database(self) -> str:
        return f"postgres://flyte:{TOKEN}@127.0.0.1:{self.ports['postgres']}/postgres?sslmode=disable"

    # The object store.

    def _object_store(self) -> None:
        (self.buckets / BUCKET).mkdir(parents=True)
        part = self._run(
            "s3", need(ROOT / ".bin" / "versitygw"), "--port", f"127.0.0.1:{self.ports['s3']}", "--quiet",
            "--cors-allow-origin", "*", "posix", str(self.buckets),  # browsers upload
            env={"ROOT_ACCESS_KEY": "flyte", "ROOT_SECRET_KEY": TOKEN},
        )
        part.wait(lambda: accepts(self.ports["s3"]))

    @property
    def s3(self) -> str:
        return f"http://localhost:{self.ports['s3']}"

    def objects(self, below: str = "") -> list[pathlib.Path]:
        """The files of the bucket's objects."""
        return [p for p in (self.buckets / BUCKET / "installation" / below).rglob("*") if p.is_file()]

    # The cluster.

    def _kubernetes(self) -> None:
        data, pki = self.folder / "etcd", self.folder / "node" / "pki"
        client, peer = f"http://127.0.0.1:{self.ports['etcd']}", f"http://127.0.0.1:{self.ports['peer']}"
        self._run(
            "etcd", need(TOOLS / "etcd"), "--data-dir", str(data), "--unsafe-no-fsync", "--log-level=error",
            "--listen-client-urls", client, "--advertise-client-urls", client,
            "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}",
        )
        # The API server shows a certificate when it reads logs from the node.
        subprocess.run([need(BINARY), "internal-node", "--data-dir", str(self.folder / "node"), "--prepare"], check=True, capture_output=True)
        (self.folder / "tokens").write_text(f"{TOKEN},operator,operator,system:masters\n")
        certificates = self.folder / "certificates"
        part = self._run(
            "kubernetes", need(TOOLS / "kube-apiserver"), f"--etcd-servers={client}", "--bind-address=127.0.0.1",
            f"--secure-port={self.ports['kubernetes']}", f"--cert-dir={certificates}", f"--token-auth-file={self.folder / 'tokens'}",
            "--authorization-mode=RBAC", "--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.0.0.0/24",
            "--service-account-issuer=https://outside", f"--service-account-key-file={pki / 'serving.crt'}",
            f"--service-account-signing-key-file={pki / 'serving.key'}", "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
            "--kubelet-preferred-address-types=InternalIP", f"--kubelet-certificate-authority={pki / 'authority.crt'}",
            f"--kubelet-client-certificate={pki / 'client.crt'}", f"--kubelet-client-key={pki / 'client.key'}",
            "--shutdown-delay-duration=0s", "-v=0",
        )
        self.kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "outside",
            "clusters": [{"name": "outside", "cluster": {
                "server": f"https://127.0.0.1:{self.ports['kubernetes']}", "certificate-authority": str(certificates / "apiserver.crt")}}],
            "users": [{"name": "operator", "user": {"token": TOKEN}}],
            "contexts": [{"name": "outside", "context": {"cluster": "outside", "user": "operator"}}],
        }))
        part.wait(lambda: self.kube("/readyz") is not None)
        # What an operator prepares: the namespace of the tasks, and in it the credentials of the object store.
        self.kube("/api/v1/namespaces", {"metadata": {"name": NAMESPACE, "labels": {"flyte.org/managed": "true"}}})
        self.kube(f"/api/v1/namespaces/{NAMESPACE}/secrets", {"metadata": {"name": "object-store"}, "stringData": {
            "FLYTE_AWS_ACCESS_KEY_ID": "flyte", "FLYTE_AWS_SECRET_ACCESS_KEY": TOKEN}})

    def _node(self) -> None:
        env_dir = pathlib.Path(sys.executable).parent.parent
        self._run("controllers", need(BINARY), "internal-controllers", "--kubeconfig", str(self.kubeconfig))
        self._run(
            "node", need(BINARY), "internal-node", "--kubeconfig", str(self.kubeconfig), "--data-dir", str(self.folder / "node"),
            "--python", str(env_dir),
        ).wait(lambda: self.kube("/api/v1/nodes/local") is not None)

    def kube(self, path: str, new: dict | None = None):
        """The API server's answer; None if it does not answer or the object does not exist."""
        try:
            trust = ssl.create_default_context(cafile=str(self.folder / "certificates" / "apiserver.crt"))
            trust.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
            request = urllib.request.Request(
                f"https://127.0.0.1:{self.ports['kubernetes']}{path}", data=json.dumps(new).encode() if new else None,
                headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"},
            )
            with urllib.request.urlopen(request, timeout=10, context=trust) as answer:
                body = answer.read()
                return json.loads(body) if body.startswith(b"{") else body.decode()
        except (urllib.error.HTTPError, OSError):
            if new is not None:
                raise
            return None

    def leftovers(self) -> list[str]:
        """TaskActions and pods that still exist."""
        found = []
        for path in ("/apis/flyte.org/v1/taskactions", f"/api/v1/namespaces/{NAMESPACE}/pods"):
            answer = self.kube(path)
            assert answer is not None, path
            found += [item["metadata"]["name"] for item in answer["items"]]
        return found

    # The server on top of them.

    def config(self, name: str, endpoint: str, elect: bool = False) -> pathlib.Path:
        """The configuration file of one server. Tasks reach it, or its proxy, at the endpoint."""
        path = self.folder / f"{name}.yaml"
        path.write_text(json.dumps({
            "database": {"url": self.database},
            "storage": {"url": f"s3://{BUCKET}/installation", "s3": {
                "endpoint": self.s3, "region": "us-east-1", "accessKeyID": "flyte", "secretAccessKey": TOKEN}},
            "kubernetes": {"kubeconfig": str(self.kubeconfig)},
            "actions": {"taskActions": {"namespace": "{{project}}-{{domain}}"}},
            "replicas": {"several": elect, "namespace": "default", "lease": {"duration": "6s"}},
            "executor": {
                "pod": {
                    "endpoint": endpoint, "insecure": True, "defaultCpu": "250m", "defaultMemory": "256Mi",
                    "defaultEnv": [f"FLYTE_AWS_ENDPOINT={self.s3}", "FLYTE_AWS_S3_ADDRESSING_STYLE=path", "AWS_REGION=us-east-1",
                                   "FLYTE_DISABLE_SENTRY=1"],
                    "envFromSecrets": ["object-store"],
                },
            },
        }))
        return path


class Replica(Server):
    """One process of the slim program, run by `serve --config`."""

    def __init__(self, outside: Outside, name: str, endpoint: str | None = None, elect: bool = False):
        folder = outside.folder / name
        folder.mkdir()
        super().__init__(folder)
        self.config = outside.config(name, endpoint or self.endpoint, elect)

    def command(self) -> list[str]:
        return [need(SLIM), "serve", "--config", str(self.config), "--set", f"server.listen=127.0.0.1:{self.port}"]


def slim(*words: str) -> subprocess.CompletedProcess:
    """Runs a subcommand of the slim program to its end."""
    return subprocess.run([need(SLIM), *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)


class Balancer:
    """Stands in for a Kubernetes Service: one address, and each new connection goes to the next replica that answers."""

    def __init__(self):
        self.port = free_port()
        self.behind: list[int] = []
        self._turn = itertools.count()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    @property
    def endpoint(self) -> str:
        return f"localhost:{self.port}"

    def start(self) -> None:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(asyncio.start_server(self._serve, "127.0.0.1", self.port), self._loop).result()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = next(self._turn)
        for i in range(len(self.behind)):
            with contextlib.suppress(OSError):
                there = await asyncio.open_connection("127.0.0.1", self.behind[(first + i) % len(self.behind)])
                break
        else:
            writer.close()
            return
        await asyncio.gather(self._copy(reader, there[1]), self._copy(there[0], writer))

    @staticmethod
    async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while chunk := await source.read(1 << 16):
                sink.write(chunk)
                await sink.drain()
        sink.close()
