"""Starts the real operators as processes next to a demo: `make operators` builds them and fetches their definitions."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import urllib.parse

import kubernetes
import yaml
from kubernetes.client import ApiException

from names import Names, authority, certificate
from server import Server, eventually, free_port

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILT = pathlib.Path(os.environ.get("FLYTE_OPERATORS", ROOT / ".bin" / "operators"))
NAMESPACE = "flytesnacks-development"


def missing() -> str:
    """Why the operators cannot run here; empty if they can."""
    if not (BUILT / "crds").is_dir():
        return f"{BUILT} has no operators: make operators"
    try:
        import flyteplugins.pytorch  # noqa: F401
    except ImportError as e:
        return f"{sys.executable} lacks the plugins of the SDK: make operators-python ({e})"
    return ""


class Cluster:
    """The API server of a demo."""

    def __init__(self, server: Server):
        self.kubeconfig = server.data / "kubernetes" / "kubeconfig"
        api = kubernetes.config.new_client_from_config(str(self.kubeconfig))
        self.core, self.batch = kubernetes.client.CoreV1Api(api), kubernetes.client.BatchV1Api(api)
        self.apps, self.custom = kubernetes.client.AppsV1Api(api), kubernetes.client.CustomObjectsApi(api)
        self.definitions = kubernetes.client.ApiextensionsV1Api(api)
        self.hooks = kubernetes.client.AdmissionregistrationV1Api(api)
        self.names = Names(server.folder)
        self.names.start(self)

    def define(self, *files: str, **spec) -> None:
        """Creates these definitions, with these fields of their specification."""
        for file in files:
            body = yaml.load((BUILT / "crds" / file).read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # megabytes
            body["spec"].update(spec)
            eventually(lambda body=body: self.create(body), what=f"{file} is created")
            eventually(lambda body=body: self.established(body["metadata"]["name"]), what=f"{file} is served")

    def create(self, definition: dict) -> bool:
        """Creates a definition, unless it exists; False if the API server is too busy for one of that size."""
        try:
            self.definitions.create_custom_resource_definition(definition)
        except ApiException as e:
            return e.status == 409
        return True

    def established(self, name: str) -> bool:
        found = self.definitions.read_custom_resource_definition(name)
        return any(c.type == "Established" and c.status == "True" for c in found.status.conditions or [])

    def objects(self, group: str, version: str, plural: str) -> list[dict]:
        return self.custom.list_namespaced_custom_object(group, version, NAMESPACE, plural)["items"]

    def pods(self, run: str) -> list:
        return [p for p in self.core.list_namespaced_pod(NAMESPACE).items if run in (p.metadata.labels or {}).get("flyte.org/task-action", "")]

    def evict(self, pod) -> None:
        """Evicts a pod, as the drain of its node does."""
        meta = kubernetes.client.V1ObjectMeta(name=pod.metadata.name, namespace=pod.metadata.namespace)
        self.core.create_namespaced_pod_eviction(meta.name, meta.namespace, kubernetes.client.V1Eviction(metadata=meta))

    def left(self, run: str, *kinds: tuple[str, str, str]) -> list[str]:
        """What exists of a run: its pods, Jobs, Deployments, Services and objects of these kinds."""
        found = [f"pod {p.metadata.name}" for p in self.pods(run)]
        for what, items in (("job", self.batch.list_namespaced_job(NAMESPACE).items),
                            ("deployment", self.apps.list_namespaced_deployment(NAMESPACE).items),
                            ("service", self.core.list_namespaced_service(NAMESPACE).items)):
            found += [f"{what} {i.metadata.name}" for i in items if run in i.metadata.name]
        for kind in kinds:
            found += [f"{kind[2]} {o['metadata']['name']}" for o in self.objects(*kind) if run in o["metadata"]["name"]]
        return found


class Operator:
    """One operator's process."""

    def __init__(self, name: str, folder: pathlib.Path, cluster: Cluster, *command: str, **env: str):
        self.name, self.command, self.log = name, command, folder / f"{name}.log"
        self.env = dict(os.environ, KUBECONFIG=str(cluster.kubeconfig), **env)
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                self.command, env=self.env, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)

    def stop(self) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None


def listening(port: int) -> bool:
    with contextlib.closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def jobset(folder: pathlib.Path, cluster: Cluster) -> Operator:
    """The JobSet controller with its webhooks, which the API server finds by their URL."""
    certs, port = folder / "jobset-certs", free_port()
    certificate(certs)
    config = folder / "jobset.yaml"
    config.write_text(yaml.safe_dump({
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1", "kind": "Configuration",
        "leaderElection": {"leaderElect": False}, "internalCertManagement": {"enable": False},
        "webhook": {"host": "127.0.0.1", "port": port, "certDir": str(certs)},
        "metrics": {"bindAddress": "0", "certDir": str(certs)}, "health": {"healthProbeBindAddress": f"127.0.0.1:{free_port()}"},
    }))
    cluster.define("jobset.x-k8s.io_jobsets.yaml")
    made = Operator("jobset", folder, cluster, str(BUILT / "jobset"), "--config", str(config))
    made.start()
    eventually(lambda: listening(port), what="the webhooks of JobSet answer")
    for body in yaml.safe_load_all((BUILT / "jobset-webhooks.yaml").read_text()):
        for hook in body["webhooks"]:
            path = hook["clientConfig"].pop("service")["path"]
            hook["clientConfig"] = {"url": f"https://127.0.0.1:{port}{path}", "caBundle": authority(certs)}
            if "pod" in path:
                hook["objectSelector"] = {"matchExpressions": [{"key": "jobset.sigs.k8s.io/jobset-name", "operator": "Exists"}]}
        if body["kind"].startswith("Mutating"):
            cluster.hooks.create_mutating_webhook_configuration(body)
        else:
            cluster.hooks.create_validating_webhook_configuration(body)
    return made


def training(folder: pathlib.Path, cluster: Cluster) -> Operator:
    """Version 1 of Kubeflow's training operator."""
    cluster.define("kubeflow.org_pytorchjobs.yaml", "kubeflow.org_mpijobs.yaml", "kubeflow.org_tfjobs.yaml")
    cluster.names.commands["kubectl-delivery"] = ["true"]  # the image of this container of MPIJobs copies kubectl
    made = Operator("training", folder, cluster, str(BUILT / "training"))
    made.start()
    return made


def trainer(folder: pathlib.Path, cluster: Cluster) -> Operator:
    """Kubeflow Trainer, version 2; it creates JobSets."""
    cluster.define(*(f"trainer.kubeflow.org_{kind}.yaml" for kind in ("trainjobs", "trainingruntimes", "clustertrainingruntimes")))
    made = Operator("trainer", folder, cluster, str(BUILT / "trainer"))
    made.start()
    return made


def kuberay(folder: pathlib.Path, cluster: Cluster) -> Operator:
    """KubeRay, which asks the heads of its clusters how jobs are. Its probes and the init container of workers would ask for commands of
    Ray's image."""
    cluster.define("ray.io_rayjobs.yaml", "ray.io_rayclusters.yaml")
    made = Operator("kuberay", folder, cluster, *cluster.names.seen_by(str(BUILT / "kuberay")), POD_NAMESPACE="default",
                    ENABLE_PROBES_INJECTION="false", ENABLE_INIT_CONTAINER_INJECTION="false")
    made.start()
    return made


def dask(folder: pathlib.Path, cluster: Cluster) -> Operator:
    """Dask's operator, from its package."""
    cluster.define(*(f"kubernetes.dask.org_dask{kind}s.yaml" for kind in ("cluster", "workergroup", "job", "autoscaler")))
    made = Operator("dask", folder, cluster, str(pathlib.Path(sys.executable).parent / "kopf"), "run", "-m",
                    "dask_kubernetes.operator.controller", "-A", "--standalone")
    made.start()
    return made


def spark(folder: pathlib.Path, cluster: Cluster) -> Operator:
    """Spark's operator with the spark-submit of PySpark, which creates the drivers; they create their executors."""
    import pyspark

    cluster.define(*(f"sparkoperator.k8s.io_{kind}.yaml" for kind in ("sparkapplications", "scheduledsparkapplications", "sparkconnects")))
    config = yaml.safe_load(cluster.kubeconfig.read_text())
    found, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    account = {"server": found["server"], "authority": str(folder / "spark-ca.crt"), "token": str(folder / "spark-token")}
    (folder / "spark-ca.crt").write_bytes(base64.b64decode(found["certificate-authority-data"]))
    (folder / "spark-token").write_text(user["token"])
    (folder / "spark.json").write_text(json.dumps(account))
    command = [sys.executable, str(pathlib.Path(__file__).parent / "spark_image.py"), str(folder / "spark.json")]
    cluster.names.commands |= {"spark-kubernetes-driver": command, "spark-kubernetes-executor": command}
    server = urllib.parse.urlsplit(found["server"])
    made = Operator("spark", folder, cluster, str(BUILT / "spark"), "controller", "start", "--namespaces", NAMESPACE, "--enable-ui-service=false",
                    "--health-probe-bind-address", f"127.0.0.1:{free_port()}", SPARK_HOME=str(pathlib.Path(pyspark.__file__).parent),
                    KUBERNETES_SERVICE_HOST=str(server.hostname), KUBERNETES_SERVICE_PORT=str(server.port))
    made.start()
    return made
