"""Gives the pods of operators addresses and names of their own, as the network of a cluster does. It is a webhook of the API server: pods
get the annotation and the hostAliases by which the demo's node gives them to their processes (docs/demo.md)."""

from __future__ import annotations

import base64
import http.server
import ipaddress
import json
import os
import pathlib
import random
import re
import ssl
import subprocess
import threading

from server import free_port

ADDRESS = "node.flyte.org/address"
FIRST = ipaddress.ip_address("127.64.0.0")
COUNT = 1 << 21
SERVICE = re.compile(r"\b([a-z0-9](?:[a-z0-9-]|\.(?!svc\b))*)\.([a-z0-9-]+)\.svc(?:\.cluster\.local)?\b")
# What the training operators give their pods is the bare name of a service, with a port or without.
BARE = ("PET_RDZV_ENDPOINT", "MASTER_ADDR", "PET_MASTER_ADDR")
# Pods with one of these labels belong to an operator's object.
MEMBERS = ("flyte.org/task-action", "flyte.org/shared-ray-cluster", "dask.org/component")
# The services that do not have the name of a pod: the label of their pods, and the label with the beginning of their name.
SERVICES = {("ray.io/node-type", "head"): ("ray.io/cluster", "-head-svc"), ("dask.org/component", "scheduler"): ("dask.org/cluster-name", "-scheduler")}


def certificate(folder: pathlib.Path) -> None:
    """Makes tls.key and tls.crt for servers at 127.0.0.1."""
    folder.mkdir(exist_ok=True)
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", folder / "tls.key", "-out", folder / "tls.crt"], check=True, capture_output=True)


def authority(folder: pathlib.Path) -> str:
    return base64.b64encode((folder / "tls.crt").read_bytes()).decode()


def own_name(pod: dict) -> str:
    """The name by which other pods find a pod."""
    meta, spec = pod["metadata"], pod["spec"]
    for (label, value), (cluster, end) in SERVICES.items():
        if meta.get("labels", {}).get(label) == value:
            return meta["labels"][cluster] + end
    if spec.get("subdomain") and spec.get("hostname"):
        return f"{spec['hostname']}.{spec['subdomain']}"
    return meta.get("name") or f"{meta['generateName']}{random.randrange(1 << 40):x}"


def own_host(pod: dict) -> list[str]:
    """The bare name that a pod has for itself only."""
    return [pod["spec"]["hostname"]] if pod["spec"].get("hostname") and pod["spec"].get("subdomain") else []


def wanted_names(pod: dict) -> set[str]:
    """The names of other pods, or of services, that a pod's programs are given."""
    found = set()
    if pod["spec"].get("subdomain"):  # the programs of a JobSet make the name of the first pod themselves
        found.add(re.sub(r"\d+-\d+$", "0-0", own_name(pod)[: -len(pod["spec"]["subdomain"]) - 1]) + "." + pod["spec"]["subdomain"])
    for container in (*pod["spec"].get("initContainers", ()), *pod["spec"]["containers"]):
        variables = {v["name"]: v.get("value", "") for v in container.get("env", ())}
        for words in (*variables.values(), *container.get("command", ()), *container.get("args", ())):
            found |= {name for name, _ in SERVICE.findall(words)}
        found |= {variables[name].partition(":")[0] for name in BARE if name in variables}
    return {name for name in found if name and name not in ("localhost", "127.0.0.1")}


class Names:
    """The addresses that names have, and the webhook that gives them to pods."""

    def __init__(self, folder: pathlib.Path):
        self.certs = folder / "names-certs"
        certificate(self.certs)
        # Operators that talk to their clusters see this file as /etc/hosts.
        self.hosts = folder / "hosts"
        self.hosts.write_bytes(pathlib.Path("/etc/hosts").read_bytes())
        self.first = random.randrange(COUNT)
        self.addresses: dict[str, str] = {}
        self.lock = threading.Lock()
        # What containers with these names start, which have no command because their image has one.
        self.commands: dict[str, list[str]] = {}

    def start(self, cluster) -> None:
        names = self

        class Answers(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                body = json.dumps(names.answer(review)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        port = free_port()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Answers)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certs / "tls.crt", self.certs / "tls.key")
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        cluster.hooks.create_mutating_webhook_configuration({"metadata": {"name": "names"}, "webhooks": [{
            "name": "names.flyte.org", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail", "timeoutSeconds": 30,
            "clientConfig": {"url": f"https://127.0.0.1:{port}/", "caBundle": authority(self.certs)},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
        }]})

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def answer(self, review: dict) -> dict:
        pod, uid = review["request"]["object"], review["request"]["uid"]
        if not any(label in pod["metadata"].get("labels", {}) for label in MEMBERS):
            return admitted({"uid": uid, "allowed": True})
        namespace, own, wanted = review["request"]["namespace"], own_name(pod), wanted_names(pod)
        patch = [
            {"op": "add", "path": "/metadata/annotations", "value": {**pod["metadata"].get("annotations", {}), ADDRESS: self.address(own, namespace)}},
            {"op": "add", "path": "/spec/hostAliases", "value": [
                {"ip": self.address(name, namespace), "hostnames": [*all_names(name, namespace), *(own_host(pod) if name == own else ())]}
                for name in sorted({own, *wanted})]},
        ]
        # The node has no measure for the disk that some ask for.
        patch += [{"op": "add", "path": f"/spec/initContainers/{i}/resources", "value": {}}
                  for i, c in enumerate(pod["spec"].get("initContainers", ())) if c["name"] in self.commands]
        patch += [{"op": "add", "path": f"/spec/{kind}/{i}/command", "value": self.commands[c["name"]]} for kind in ("initContainers", "containers")
                  for i, c in enumerate(pod["spec"].get(kind, ())) if c["name"] in self.commands and not c.get("command")]
        return admitted({"uid": uid, "allowed": True, "patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(patch).encode()).decode()})

    def address(self, name: str, namespace: str) -> str:
        """A name has one address, whether a pod that has it or one that asks for it comes first."""
        with self.lock:
            if name not in self.addresses:
                self.addresses[name] = str(FIRST + (self.first + len(self.addresses)) % COUNT)
                with self.hosts.open("a") as file:
                    file.write(f"{self.addresses[name]}\t{' '.join(all_names(name, namespace))}\n")
            return self.addresses[name]

    def seen_by(self, *command: str) -> tuple[str, ...]:
        """The command as one that sees these names."""
        own = () if os.geteuid() == 0 else ("--map-root-user",)
        return ("unshare", *own, "--mount", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', str(self.hosts), *command)


def admitted(response: dict) -> dict:
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}


def all_names(name: str, namespace: str) -> list[str]:
    return [name, f"{name}.{namespace}", f"{name}.{namespace}.svc", f"{name}.{namespace}.svc.cluster.local"]
