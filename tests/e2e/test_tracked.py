"""Runs that the released client executes itself and reports here (`flyte run --local --tracked`)."""

import os
import pathlib
import signal
import subprocess
import sys
import urllib.request
import uuid

import pytest

from conftest import ABORTED_AT_EXIT, ROOT
from server import Server, eventually
from test_console import look  # noqa: F401, a fixture

SERVICE = "flyteidl2.workflow.TrackedRunService"
PLACE = {"org": "flyte", "project": "flytesnacks", "domain": "development"}


class Tracked:
    """A tracked run, as a client without generated code sees it."""

    def __init__(self, server: Server, name: str):
        self.server, self.name = server, name
        self.id = {**PLACE, "name": name}

    def call(self, service: str, method: str, body: dict) -> dict:
        status, answer = self.server.call(f"{service}/{method}", body)
        assert status == 200, answer
        return answer

    def exists(self) -> bool:
        return self.server.call(f"{SERVICE}/GetRunDetails", {"runId": self.id})[0] == 200

    def root(self) -> dict:
        return self.call(SERVICE, "GetRunDetails", {"runId": self.id})["details"]["action"]

    def phase(self) -> str:
        return self.root()["status"]["phase"].removeprefix("ACTION_PHASE_")

    def actions(self) -> list[dict]:
        return self.call(SERVICE, "ListActions", {"runId": self.id, "request": {"limit": 100}})["actions"]

    def details(self, action: str) -> dict:
        return self.call(SERVICE, "GetActionDetails", {"actionId": {"run": self.id, "name": action}})["details"]

    def data(self, action: str) -> dict:
        return self.call("flyteidl2.dataproxy.DataProxyService", "GetActionData",
                         {"actionId": {"run": self.id, "name": action}, "runSource": "RUN_SOURCE_TRACKED"})

    def report(self, action: str = "a0", attempt: int = 1) -> str:
        status, answer = self.server.call("flyteidl2.dataproxy.DataProxyService/CreateDownloadLink", {
            "artifactType": "ARTIFACT_TYPE_REPORT",
            "actionAttemptId": {"actionId": {"run": self.id, "name": action}, "attempt": attempt},
        })
        if status != 200:
            return ""
        with urllib.request.urlopen(answer["preSignedUrls"]["signedUrl"][0], timeout=30) as found:
            return found.read().decode()


@pytest.fixture
def local(server: Server, tmp_path: pathlib.Path, home: pathlib.Path):
    """Starts a local, tracked run in a process of its own; it returns the run and the process."""
    config = tmp_path / "config.yaml"
    config.write_text(
        f"admin: {{endpoint: 'dns:///{server.endpoint}', insecure: true}}\n"
        "task: {project: flytesnacks, domain: development}\n"
    )
    started: list[subprocess.Popen] = []

    def start(*words: str) -> tuple[Tracked, subprocess.Popen]:
        name = "l" + uuid.uuid4().hex[:10]
        process = subprocess.Popen(
            [str(pathlib.Path(sys.executable).parent / "flyte"), "--config", str(config),
             "run", "--local", "--tracked", "--tracked-strict", "--name", name, "flows/local.py", *words],
            cwd=ROOT, env=dict(os.environ, COLUMNS="300", NO_COLOR="1", TERM="dumb"),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            # A shell lets what it runs in the background ignore Ctrl-C, and the client would inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        started.append(process)
        return Tracked(server, name), process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
            process.wait()


def finish(process: subprocess.Popen, *codes: int) -> str:
    out, _ = process.communicate(timeout=300)
    assert process.returncode in (codes or (0, ABORTED_AT_EXIT)), out
    return out


def literals(some: dict) -> dict:
    return {one["name"]: next(iter(one["value"]["scalar"]["primitive"].values())) for one in some.get("literals", [])}


def test_a_local_run_with_its_data(local, server: Server):
    run, process = local("squares", "--n", "3")
    finish(process)
    root = run.root()
    assert run.phase() == "SUCCEEDED", root
    assert root["metadata"]["source"] == "RUN_SOURCE_TRACKED"
    assert literals(run.data("a0")["inputs"]) == {"n": "3"}
    assert literals(run.data("a0")["outputs"]) == {"o0": "5"}
    assert "the sum is 5" in run.report()

    tasks = [a for a in run.actions() if a["metadata"].get("task", {}).get("shortName") == "square"]
    assert len(tasks) == 3, run.actions()
    assert {a["metadata"]["group"] for a in tasks} == {"all"}
    assert {a["status"]["phase"] for a in run.actions()} == {"ACTION_PHASE_SUCCEEDED"}
    squares = sorted(literals(run.data(a["id"]["name"])["outputs"])["o0"] for a in tasks)
    assert squares == ["0", "1", "4"]
    traces = [a for a in run.actions() if a["metadata"]["actionType"] == "ACTION_TYPE_TRACE"]
    assert {a["metadata"]["parent"] for a in traces} == {a["id"]["name"] for a in tasks}
    assert len(literals(run.data(traces[0]["id"]["name"])["outputs"])) == 1

    # Nothing of it is a run of the server.
    status, _ = server.call("flyteidl2.workflow.RunService/GetRunDetails", {"runId": run.id})
    assert status == 404


def test_attempts_and_errors(local):
    run, process = local("retried")
    finish(process)
    child = next(a for a in run.actions() if a["id"]["name"] != "a0")
    phases = [a["phase"] for a in run.details(child["id"]["name"])["attempts"]]
    assert phases == ["ACTION_PHASE_FAILED", "ACTION_PHASE_SUCCEEDED"]

    run, process = local("broken")
    out = finish(process, 1)
    assert "on purpose" in out
    assert run.phase() == "FAILED"
    assert "on purpose" in run.root()["errorInfo"]["message"]


def test_a_report_grows_while_the_run_lives(local, tmp_path: pathlib.Path):
    gate = tmp_path / "gate"
    run, process = local("watched", "--gate", str(gate))
    eventually(run.exists, what="the run")
    for number in range(3):
        eventually(lambda: f"part {number}" in run.report(), what=f"part {number} of the report")
        assert run.phase() == "RUNNING"
        pathlib.Path(f"{gate}.{number}").touch()
    finish(process)
    assert run.phase() == "SUCCEEDED"
    assert "part 2" in run.report()


def test_the_console_shows_it(local, look):  # noqa: F811
    run, process = local("squares", "--n", "2")
    out = finish(process)
    place = "/v2/domain/development/project/flytesnacks"
    path = f"{place}/tracked-runs/{run.name}"
    assert path in out or "tracked-runs" not in out
    page = look(path, 'data-phase="succeeded"')
    assert "squares" in page and run.name in page
    assert ">Logs<" not in page, "there are none"
    page = look(f"{place}/runs", path)
    assert "Tracked" in page


def test_an_interrupted_run_is_aborted(local, tmp_path: pathlib.Path):
    run, process = local("watched", "--gate", str(tmp_path / "gate"))
    eventually(lambda: "part 0" in run.report() if run.exists() else False, what="the report")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=300)
    eventually(lambda: run.phase() == "ABORTED", what="the abort")


def test_a_dead_client_leaves_a_run_that_people_abort(local, tmp_path: pathlib.Path):
    run, process = local("watched", "--gate", str(tmp_path / "gate"))
    eventually(lambda: "part 0" in run.report() if run.exists() else False, what="the report")
    process.kill()
    process.wait()
    assert run.phase() == "RUNNING"
    run.call(SERVICE, "AbortRun", {"runId": run.id, "reason": "the laptop is gone"})
    assert {a["status"]["phase"] for a in run.actions()} == {"ACTION_PHASE_ABORTED"}
    assert run.root()["abortInfo"]["reason"] == "the laptop is gone"
