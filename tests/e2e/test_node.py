"""Runs on a real node: kubelet, containerd, and the chart's trial as a user installs it. `make node` starts one, `make node-test` runs
these; docs/testing.md."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import threading
import urllib.request

import flyte
import flyte.remote as remote
import pytest

from conftest import command_line, connect
from flows import basic, failing, on_a_node, raw, timing
from server import Server, eventually

pytestmark = pytest.mark.skipif(not os.environ.get("FLYTE_NODE"), reason="needs a real Kubernetes node: make node, then make node-test")

RELEASE = "flyte"
TASKS = "flytesnacks-development"
# What the trial signs its URLs for.
STORE_PORT = 7070
# Not 8090: for that port, the released SDK prints links to another one.
PORT = 8088


def kubectl(*words: str) -> str:
    done = subprocess.run(["kubectl", *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
    assert done.returncode == 0, done.stdout
    return done.stdout


def pods(namespace: str, *words: str) -> list[dict]:
    return json.loads(kubectl("-n", namespace, "get", "pods", "-o", "json", *words))["items"]


class Forward:
    """kubectl's port forwarding, started again whenever the pod behind it has gone."""

    def __init__(self, service: str, ports: str):
        self._command = ["kubectl", "-n", RELEASE, "port-forward", f"service/{service}", ports]
        self._closed = threading.Event()
        self._process: subprocess.Popen | None = None
        self._thread = threading.Thread(target=self._keep, daemon=True)
        self._thread.start()

    def _keep(self) -> None:
        while not self._closed.is_set():
            self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self._process.wait()
            self._closed.wait(0.3)

    def close(self) -> None:
        self._closed.set()
        if self._process:
            self._process.terminate()
        self._thread.join(timeout=30)


class Release(Server):
    """The installed release behind a forwarded port."""

    def __init__(self):
        self.port = PORT


@pytest.fixture(scope="module")
def release(home):
    forwards = [Forward("flyte-binary", f"{PORT}:8090"), Forward("flyte-binary-store", f"{STORE_PORT}:7070")]
    instance = Release()
    eventually(instance.ready, what="the release is ready")
    yield instance
    for forward in forwards:
        forward.close()


@pytest.fixture(autouse=True)
def sdk(release: Release):
    connect(release)


def run(task, *args):
    return flyte.run(task, *args)


def ended(handle) -> tuple[str, str]:
    """The phase of a run at its end, and its error. Forwarded ports break off with the pods behind them, so it asks again."""

    def details():
        with contextlib.suppress(Exception):
            found = remote.Run.get(handle.name)
            return found if found.done() else None
        return None

    found = eventually(details, what=f"the end of {handle.name}")
    phase = str(found.phase).rsplit(".", 1)[-1].lower()
    message = remote.RunDetails.get(handle.name).action_details.error_info.message if phase not in ("succeeded", "aborted") else ""
    return phase, message


def outputs(handle):
    phase, message = ended(handle)
    assert phase == "succeeded", (handle.name, phase, message)
    return remote.Run.get(handle.name).outputs()[0]


def restarted(names: set[str]) -> bool:
    """Whether the server's pods are others than these, and all are ready."""
    now = pods(RELEASE, "-l", "app.kubernetes.io/component=server")
    ready = all(c["ready"] for pod in now for c in pod["status"].get("containerStatuses", [{"ready": False}]))
    return bool(now) and ready and not names & {pod["metadata"]["name"] for pod in now}


def servers() -> set[str]:
    return {pod["metadata"]["name"] for pod in pods(RELEASE, "-l", "app.kubernetes.io/component=server")}


def test_children_of_children():
    assert outputs(run(basic.nested, 2)) == 2


def test_a_fan_out_leaves_no_pods():
    handle = run(on_a_node.squares, 8)
    assert outputs(handle) == [n * n for n in range(8)]
    eventually(lambda: not [p for p in pods(TASKS) if p["metadata"]["name"].startswith(handle.name)], what="its pods are gone")


def test_logs_during_and_after_the_pod():
    handle = run(on_a_node.naps, 5.0)
    reader = iter(remote.Action.get(run_name=handle.name, name="a0").get_logs())
    assert "napping" in eventually(lambda: next((line for line in reader if "napping" in line), None), what="the line of the running task")
    assert not remote.Run.get(handle.name).done()
    assert outputs(handle) == 5.0
    eventually(lambda: not [p for p in pods(TASKS) if p["metadata"]["name"].startswith(handle.name)], what="its pod is gone")
    assert "napping" in logs(handle)


def logs(handle) -> str:
    return "\n".join(remote.Action.get(run_name=handle.name, name="a0").get_logs())


def running(handle) -> bool:
    return str(remote.Run.get(handle.name).phase).lower().endswith("running")


def test_memory_limit():
    phase, message = ended(run(failing.hog, 600))
    assert phase == "failed" and "more memory than its limit" in message and "it asked for 250Mi" in message, message


def test_timeout():
    phase, message = ended(run(timing.runs_too_long))
    assert phase == "timed_out" and "longer than its timeout of 2s" in message, message


def test_abort_deletes_the_pod():
    handle = run(on_a_node.naps, 300.0)
    eventually(lambda: running(handle), what="the task runs")
    remote.Run.get(handle.name).abort()
    assert ended(handle)[0] == "aborted"
    eventually(lambda: not [p for p in pods(TASKS) if p["metadata"]["name"].startswith(handle.name)], what="its pod is gone")


def test_a_missing_image_is_explained(release: Release):
    handle = run(on_a_node.never)
    who = {"actionId": {"run": {"project": "flytesnacks", "domain": "development", "name": handle.name}, "name": "a0"}}

    def why() -> str:
        return release.call("flytebinary.insight.v1.InsightService/ExplainAction", who)[1].get("wait", {}).get("message", "")

    assert "no-such-image" in eventually(lambda: "no-such-image" in why() and why(), what="the reason")
    remote.Run.get(handle.name).abort()
    assert ended(handle)[0] == "aborted"


def test_a_container_without_the_sdk():
    assert outputs(run(raw.parent, 3)) == 7


def test_an_app_is_served(release: Release, tmp_path):
    cli = command_line(release, tmp_path)
    cli("serve", "flows/apps.py", "files")
    page = eventually(lambda: fetched(f"{release.url}/apps/flytesnacks/development/files/"), what="the app answers")
    assert 'href="flows/"' in page, "it serves the code bundle"
    remote.App.get(name="files").deactivate()


def fetched(url: str) -> str:
    with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=30) as answer:
        return answer.read().decode()
    return ""


def test_an_evicted_pod_is_tried_again():
    """What a drained node does to a pod that does not end in time: the system has lost the attempt."""
    handle = run(on_a_node.naps, 10.0)
    eventually(lambda: running(handle), what="the task runs")
    name = next(p["metadata"]["name"] for p in pods(TASKS) if p["metadata"]["name"].startswith(handle.name))
    kubectl("-n", TASKS, "delete", "pod", name, "--grace-period=1", "--wait=false")
    assert outputs(handle) == 10.0
    assert len(remote.ActionDetails.get(run_name=handle.name, name="a0").pb2.attempts) == 2


def test_a_pool_runs_many():
    assert outputs(run(on_a_node.doubles, 100)) == [2 * n for n in range(100)]


def test_a_lost_worker():
    handle = run(on_a_node.doubles, 200)
    workers = eventually(lambda: running_workers(), what="workers run")
    kubectl("-n", TASKS, "delete", "pod", workers[0], "--force", "--grace-period=0")
    assert outputs(handle) == [2 * n for n in range(200)]


def test_a_pool_that_runs_out_of_memory():
    """The kubelet has the kernel kill the worker, too; what it reports must reach the task that used the memory, once."""
    handle = run(on_a_node.rescues, 900)
    said = outputs(handle)
    assert said.startswith("OOMKilled") and "400Mi as its limit, and for 300Mi as its request" in said, said
    (child,) = [action for action in remote.Action.listall(for_run_name=handle.name) if action.name != "a0"]
    assert len(remote.ActionDetails.get(run_name=handle.name, name=child.name).pb2.attempts) == 1


def running_workers() -> list[str]:
    return [p["metadata"]["name"] for p in pods(TASKS) if p["metadata"]["name"].startswith("worker-") and p["status"]["phase"] == "Running"]


def test_both_replicas_are_killed():
    """Half of the children in pods, half in workers, and no server for some seconds."""
    handles = [run(on_a_node.squares, 6), run(on_a_node.doubles, 150)]
    before = servers()
    kubectl("-n", RELEASE, "delete", "pods", *before, "--force", "--grace-period=0")
    eventually(lambda: restarted(before), what="other replicas are ready")
    assert outputs(handles[0]) == [n * n for n in range(6)]
    assert outputs(handles[1]) == [2 * n for n in range(150)]


def test_the_store_and_the_database_are_killed():
    handles = [run(on_a_node.squares, 6), run(on_a_node.doubles, 100)]
    kubectl("-n", RELEASE, "delete", "pods", "flyte-binary-postgres-0", "flyte-binary-store-0", "--force", "--grace-period=0")
    assert outputs(handles[0]) == [n * n for n in range(6)]
    assert outputs(handles[1]) == [2 * n for n in range(100)]


def test_the_server_is_quiet():
    """Default logging: nothing below info, from our code or from the Kubernetes libraries."""
    lines = [json.loads(line) for name in servers() for line in kubectl("-n", RELEASE, "logs", name).splitlines() if line.startswith("{")]
    assert lines
    assert not [line for line in lines if line["level"] not in ("info", "warn", "error")]


def test_doctor():
    report = kubectl("-n", RELEASE, "exec", "deployment/flyte-binary", "--", "flyte-binary", "doctor", "--config", "/etc/flyte/flyte.yaml")
    assert report.count("ok ") == 4, report
