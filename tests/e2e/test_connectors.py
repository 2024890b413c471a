"""Tasks that another system runs, through the SDK's own connector server."""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import flyte
import flyte.remote as remote
import pytest

from conftest import command_line, connect
from flows import batch_tasks
from server import Server, eventually, free_port

FLOWS = pathlib.Path(__file__).resolve().parent / "flows"


class Batch:
    """The connector's process, and the directory that is the batch system."""

    def __init__(self, folder: pathlib.Path):
        self.jobs, self.port, self.log = folder / "jobs", free_port(), folder / "connector.log"
        self.jobs.mkdir()
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        command = [str(pathlib.Path(sys.executable).parent / "c0"), "--port", str(self.port), "--prometheus_port", str(free_port()),
                   "--modules", "batch_connector"]
        out = self.log.open("ab")
        self.process = subprocess.Popen(
            command, cwd=FLOWS, env=dict(os.environ, BATCH_JOBS=str(self.jobs)), stdout=out, stderr=out, start_new_session=True,
        )

    def stop(self) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def calls(self, what: str) -> list[dict]:
        log = self.jobs / "calls"
        lines = log.read_text().splitlines() if log.exists() else []
        return [call for call in map(json.loads, lines) if call["what"] == what]

    def becomes(self, key: str, phase: str) -> None:
        job = json.loads((self.jobs / key).read_text())
        (self.jobs / f"{key}.new").write_text(json.dumps({**job, "phase": phase}))
        (self.jobs / f"{key}.new").rename(self.jobs / key)


@pytest.fixture(scope="module")
def batch(tmp_path_factory: pytest.TempPathFactory):
    instance = Batch(tmp_path_factory.mktemp("batch"))
    instance.start()
    yield instance
    instance.stop()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, batch: Batch):
    endpoint = json.dumps([{"name": "batch", "url": f"http://127.0.0.1:{batch.port}"}])
    instance = Server(tmp_path_factory.mktemp("served"), "--set", f"connectors.endpoints={endpoint}")
    instance.start()
    yield instance
    instance.stop()


@pytest.fixture(autouse=True)
def connected(served: Server, tmp_path: pathlib.Path):
    connect(served)
    with contextlib.suppress(Exception):  # it exists since the test before
        remote.Secret.create("batch-token", "hush", type="regular")


def phase_of(name: str) -> str:
    return str(remote.Run.get(name).phase).rsplit(".", 1)[-1].lower()


def begin(batch: Batch, task, word: str):
    """Starts a run, and waits until its job exists."""
    before = len(batch.calls("create"))
    run = eventually(lambda: submitted(task, word), what="the type is served")
    eventually(lambda: len(batch.calls("create")) > before, what="the job is created")
    return run, batch.calls("create")[-1]


def submitted(task, word: str):
    """The run; None while the server has not asked the connector yet what it serves."""
    try:
        return flyte.run(task, word=word)
    except Exception as e:
        if "no connector serves" in str(e):
            return None
        raise


def test_a_job_runs_in_the_batch_system(batch: Batch):
    run, create = begin(batch, batch_tasks.batch, "hello")
    assert create["inputs"] == {"word": "hello"} and create["secrets"]["token"] == "hush"
    eventually(lambda: phase_of(run.name) == "running", what="the action runs")
    batch.becomes(create["key"], "SUCCEEDED")
    run.wait(quiet=True)
    assert phase_of(run.name) == "succeeded", remote.RunDetails.get(run.name).action_details.error_info
    assert run.outputs()[0] == "HELLO"
    attempt = remote.RunDetails.get(run.name).action_details.pb2.attempts[0]
    assert attempt.log_info[0].uri == f"https://batch.example/{create['key']}"


def test_the_log_of_a_job(batch: Batch, served: Server, tmp_path: pathlib.Path):
    run, create = begin(batch, batch_tasks.batch, "chatty")
    eventually(lambda: phase_of(run.name) == "running", what="the action runs")
    flyte_cli = command_line(served, tmp_path)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        live = pool.submit(flyte_cli, "get", "logs", run.name)
        eventually(lambda: batch.calls("logs"), what="the log is read")
        batch.becomes(create["key"], "SUCCEEDED")
        followed = live.result()
    stored = flyte_cli("get", "logs", run.name)
    for output in followed, stored:
        assert [output.count(f"page {page} of chatty") for page in range(3)] == [1, 1, 1], output


def ask(served: Server, method: str, run: str) -> dict:
    """The answer of a method about the first attempt of a run's root action."""
    body = {"actionId": {"run": {"org": "local", "project": "flytesnacks", "domain": "development", "name": run}, "name": "a0"}, "attempt": 1}
    request = urllib.request.Request(
        f"http://{served.endpoint}/flytebinary.insight.v1.ConnectorInsightService/{method}", json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def test_the_metrics_of_a_job(batch: Batch, served: Server):
    run, create = begin(batch, batch_tasks.batch, "measured")
    eventually(lambda: phase_of(run.name) == "running", what="the action runs")
    job = ask(served, "GetJob", run.name)
    assert job["connector"] == "batch" and job["job"] == create["key"] and job["started"], job
    assert create["key"] not in [call["key"] for call in batch.calls("metrics")], "no one has asked"
    slots, progress = ask(served, "GetJobMetrics", run.name)["metrics"]
    assert slots["name"] == 'slots{pool="small"}' and len(slots["samples"]) == 60, slots
    assert slots["samples"][8]["value"] == 1
    assert json.loads(progress["text"]) == {"stage": "shuffle", "done": 3, "of": 5}
    batch.becomes(create["key"], "SUCCEEDED")
    run.wait(quiet=True)
    with pytest.raises(urllib.error.HTTPError, match="404"):
        ask(served, "GetJobMetrics", run.name)


@pytest.fixture
def deployed(served: Server, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch):
    """An app of the type connector, and its batch system."""
    code = tmp_path / "code"
    code.mkdir()
    for name in "batch_connector.py", "connector_app.py":
        shutil.copy(FLOWS / name, code)
    system = Batch(tmp_path)
    monkeypatch.setenv("E2E_BATCH_JOBS", str(system.jobs))
    monkeypatch.setenv("BATCH_JOBS", str(system.jobs))
    flyte_cli = command_line(served, tmp_path, code)
    flyte_cli("deploy", "connector_app.py", "connector")
    yield system, flyte_cli
    flyte_cli("delete", "app", "batch-app")


def test_an_app_is_a_connector(deployed, served: Server):
    """An app that the SDK deploys serves the tasks of its own project and domain; while it is stopped its jobs wait."""
    system, flyte_cli = deployed
    run, create = begin(system, batch_tasks.app, "hello")
    assert create["inputs"] == {"word": "hello"} and create["secrets"]["token"] == "hush"
    eventually(lambda: phase_of(run.name) == "running", what="the action runs")
    assert ask(served, "GetJob", run.name)["connector"] == "apps/flytesnacks/development/batch-app"
    assert len(ask(served, "GetJobMetrics", run.name)["metrics"]) == 2

    flyte.init(endpoint=f"dns:///{served.endpoint}", insecure=True, project="flytesnacks", domain="production", root_dir=FLOWS.parent)
    with pytest.raises(Exception, match="no connector serves tasks of type.*app_batch"):
        flyte.run(batch_tasks.app, word="of another domain")
    connect(served)

    flyte_cli("update", "app", "batch-app", "--deactivate", "--wait")
    system.becomes(create["key"], "SUCCEEDED")
    waiting = flyte.run(batch_tasks.app, word="later")
    assert phase_of(run.name) == "running"
    flyte_cli("update", "app", "batch-app", "--activate", "--wait")
    eventually(lambda: phase_of(run.name) == "succeeded", what="the run succeeds")
    assert run.outputs()[0] == "HELLO"
    eventually(lambda: len(system.calls("create")) == 2, what="the second job is created")
    system.becomes(system.calls("create")[-1]["key"], "SUCCEEDED")
    eventually(lambda: phase_of(waiting.name) == "succeeded", what="the run that waited succeeds")
    for name in run.name, waiting.name:
        assert len(remote.RunDetails.get(name).action_details.pb2.attempts) == 1


def test_statements_are_filled_in(batch: Batch):
    run, create = begin(batch, batch_tasks.query, "rows")
    assert create["sql"] == "SELECT 'rows'"
    batch.becomes(create["key"], "SUCCEEDED")
    run.wait(quiet=True)
    assert run.outputs()[0] == "ROWS"


def test_an_abort_reaches_the_batch_system(batch: Batch):
    run, create = begin(batch, batch_tasks.batch, "long")
    run.abort()
    eventually(lambda: create["key"] in [call["key"] for call in batch.calls("delete")], what="the job is deleted")
    assert phase_of(run.name) == "aborted"


def test_what_the_connector_refuses_is_the_tasks_failure(batch: Batch):
    run, _ = begin(batch, batch_tasks.batch, "refused")
    run.wait(quiet=True)
    error = remote.RunDetails.get(run.name).action_details.error_info
    assert phase_of(run.name) == "failed"
    assert "JobNotStarted" in str(error) and "takes no such word" in str(error)


def test_neither_the_connector_nor_the_server_may_stop_a_job(batch: Batch, served: Server):
    run, create = begin(batch, batch_tasks.batch, "patient")
    eventually(lambda: phase_of(run.name) == "running", what="the action runs")
    batch.stop()
    served.kill()
    batch.becomes(create["key"], "SUCCEEDED")
    served.start()
    connect(served)
    batch.start()
    eventually(lambda: phase_of(run.name) == "succeeded", what="the run succeeds")
    assert [call["key"] for call in batch.calls("create")].count(create["key"]) == 1
    assert len(remote.RunDetails.get(run.name).action_details.pb2.attempts) == 1


def test_a_type_that_no_connector_serves_is_refused():
    with pytest.raises(Exception, match="no connector serves tasks of type.*no_such_batch"):
        flyte.run(batch_tasks.nowhere, word="x")
