"""Starts Kueue next to a demo, with a queue that has room for a little."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Iterator

import yaml
from kubernetes.client import ApiException
from names import authority, certificate
from operators import BUILT, NAMESPACE, Cluster, Operator, listening

from server import eventually, free_port

GROUP, VERSION = "kueue.x-k8s.io", "v1beta2"
WORKLOADS = (GROUP, VERSION, "workloads")
CONVERTED = ("localqueues", "clusterqueues", "cohorts", "workloads", "multikueueclusters")
# The kinds that Kueue's webhooks see, with the integration of each; its own kinds have none.
FRAMEWORKS = {
    "jobs": "batch/job", "jobsets": "jobset.x-k8s.io/jobset", "tfjobs": "kubeflow.org/tfjob", "pytorchjobs": "kubeflow.org/pytorchjob",
    "rayjobs": "ray.io/rayjob", "trainjobs": "trainer.kubeflow.org/trainjob",
    "clusterqueues": "", "resourceflavors": "", "workloads": "", "cohorts": "",
}


def kueue(folder: pathlib.Path, cluster: Cluster) -> Operator:
    """The controllers, the scheduler and the webhooks of Kueue, which the API server finds by their URL."""
    certs, port = folder / "kueue-certs", free_port()
    certificate(certs)
    config = folder / "kueue.yaml"
    config.write_text(yaml.safe_dump({
        "apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration",
        "health": {"healthProbeBindAddress": f"127.0.0.1:{free_port()}"}, "metrics": {"bindAddress": "0"},
        "webhook": {"host": "127.0.0.1", "port": port, "certDir": str(certs)},
        "leaderElection": {"leaderElect": False}, "internalCertManagement": {"enable": False},
        "integrations": {"frameworks": [f for f in FRAMEWORKS.values() if f]},
        "featureGates": {"TopologyAwareScheduling": False, "MultiKueue": False},
    }))

    def client(path: str) -> dict:
        return {"url": f"https://127.0.0.1:{port}{path}", "caBundle": authority(certs)}

    for file in sorted((BUILT / "crds").glob(f"{GROUP}_*.yaml")):
        converted = file.stem.partition("_")[2] in CONVERTED
        webhook = {"clientConfig": client("/convert"), "conversionReviewVersions": ["v1"]}
        cluster.define(file.name, **({"conversion": {"strategy": "Webhook", "webhook": webhook}} if converted else {}))
    made = Operator("kueue", folder, cluster, str(BUILT / "kueue"), "--config", str(config))
    made.start()
    eventually(lambda: listening(port), what="the webhooks of Kueue answer")
    for body in webhooks(client):
        if body["kind"].startswith("Mutating"):
            cluster.hooks.create_mutating_webhook_configuration(body)
        else:
            cluster.hooks.create_validating_webhook_configuration(body)
    return made


def answers(cluster: Cluster) -> bool:
    """Whether Kueue converts objects for the API server, which has them in an earlier version."""
    try:
        cluster.objects(*WORKLOADS)
    except ApiException:
        return False
    return True


def webhooks(client) -> Iterator[dict]:
    """Kueue's own registrations of its webhooks, for the kinds that it manages here."""
    for body in yaml.safe_load_all((BUILT / "kueue-webhooks.yaml").read_text()):
        body["metadata"]["name"] = f"kueue-{body['kind'].lower()}"
        body["webhooks"] = [h for h in body["webhooks"] if any(r.partition("/")[0] in FRAMEWORKS for rule in h["rules"] for r in rule["resources"])]
        for hook in body["webhooks"]:
            hook["clientConfig"] = client(hook["clientConfig"]["service"]["path"])
        yield body


def queue(cluster: Cluster, name: str, **quota: str) -> None:
    """A LocalQueue in the namespace of tasks, with the only ClusterQueue and this quota. Workloads of a higher class preempt others."""
    flavor = {"name": "default-flavor", "resources": [{"name": r, "nominalQuota": q} for r, q in quota.items()]}
    group = {"coveredResources": list(quota), "flavors": [flavor]}
    everywhere = {
        "resourceflavors": {"kind": "ResourceFlavor", "metadata": {"name": "default-flavor"}},
        "clusterqueues": {"kind": "ClusterQueue", "metadata": {"name": name}, "spec": {
            "namespaceSelector": {}, "resourceGroups": [group], "preemption": {"withinClusterQueue": "LowerPriority"}}},
        "workloadpriorityclasses": {"kind": "WorkloadPriorityClass", "metadata": {"name": "urgent"}, "value": 1000, "description": "goes first"},
    }
    for plural, body in everywhere.items():
        with contextlib.suppress(ApiException):  # another queue has the same flavor and class
            cluster.custom.create_cluster_custom_object(GROUP, VERSION, plural, {"apiVersion": f"{GROUP}/{VERSION}", **body})
    with contextlib.suppress(ApiException):  # it exists when something has run in it
        cluster.core.create_namespace({"metadata": {"name": NAMESPACE, "labels": {"flyte.org/managed": "true"}}})
    cluster.custom.create_namespaced_custom_object(GROUP, VERSION, NAMESPACE, "localqueues", {
        "apiVersion": f"{GROUP}/{VERSION}", "kind": "LocalQueue", "metadata": {"name": name}, "spec": {"clusterQueue": name}})
