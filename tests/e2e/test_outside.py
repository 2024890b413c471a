"""The slim program and `serve --config`, with the database, the cluster and the object store outside of it. The flows are those
of the demo, and the code is the same; only the dependencies differ."""

import collections
import os
import pathlib
import signal
import subprocess
import urllib.error
import urllib.parse
import urllib.request
import uuid

import flyte
import flyte.io
import flyte.remote as remote
import pytest

from conftest import command_line, connect
from flows import basic, context, failing, kinds, storm
from outside import ROOT, Balancer, Outside, Replica, slim
from server import alive, eventually


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory, home):
    everything = Outside(tmp_path_factory.mktemp("outside"))
    try:
        everything.start()
        yield everything
    finally:
        everything.stop()


@pytest.fixture(scope="module")
def only(outside: Outside):
    """The one server of most tests here."""
    replica = Replica(outside, "only")
    replica.start()
    yield replica
    replica.stop()


@pytest.fixture
def sdk(only: Replica):
    connect(only)
    return only


def finish(handle) -> str:
    handle.wait(quiet=True)
    return phase_of(handle)


def succeed(handle):
    """Waits for a run that must succeed; returns the outputs."""
    assert finish(handle) == "succeeded", remote.RunDetails.get(handle.name).action_details.error_info
    return handle.outputs()


def phase_of(handle) -> str:
    return str(remote.Run.get(handle.name).phase).rsplit(".", 1)[-1].lower()


def result(task, *args, **kwargs):
    return succeed(flyte.run(task, *args, **kwargs))


def test_before_the_first_start(outside: Outside, tmp_path: pathlib.Path):
    config = str(outside.config("nobody", "localhost:1"))
    status = slim("migrate", "status", "--config", config)
    assert status.returncode == 0 and "pending" in status.stdout, status.stdout
    doctor = slim("doctor", "--config", config)
    assert doctor.returncode == 3, doctor.stdout
    assert "FAIL  database" in doctor.stdout and "migrate up" in doctor.stdout
    assert "FAIL  TaskAction definition: not installed" in doctor.stdout
    assert "ok    API server" in doctor.stdout and "ok    storage" in doctor.stdout
    up = slim("migrate", "up", "--config", config)
    assert up.returncode == 0, up.stdout
    status = slim("migrate", "status", "--config", config)
    assert "applied" in status.stdout and "pending" not in status.stdout, status.stdout


def test_doctor_finds_no_problem(outside: Outside, only: Replica):
    doctor = slim("doctor", "--config", str(only.config))
    assert doctor.returncode == 0, doctor.stdout
    assert [line.split(":")[0] for line in doctor.stdout.splitlines()] == [
        "ok    database", "ok    API server", "ok    TaskAction definition", "ok    rights", "ok    plugins", "ok    Events of pods",
        "ok    usage of tasks", "ok    storage"]
    assert "s3://flyte/installation" in doctor.stdout


def test_hello_and_its_data_in_the_bucket(outside: Outside, sdk: Replica):
    before = set(outside.objects("uploads"))
    handle = flyte.run(basic.hello, "outside")
    assert succeed(handle)[0] == "hello outside"
    assert set(outside.objects("uploads")) - before, "the client's bundle came by a signed PUT"
    assert "outputs.pb" in {p.name for p in outside.objects() if handle.name in str(p)}


def test_nested(sdk):
    assert result(basic.nested, 2)[0] == 2


def test_gather(sdk):
    assert result(basic.gathered, 4)[0] == [10, 11, 12, 13]


def test_file(sdk):
    assert result(kinds.file_round_trip, "in the bucket")[0] == "in the bucket"


def test_dir(sdk):
    assert result(kinds.dir_round_trip, ["one", "two"])[0] == ["one", "two"]


def test_dataframe(sdk):
    assert result(kinds.frame_round_trip, 10)[0] == sum(i * i for i in range(10))


def test_file_of_the_client(sdk, tmp_path: pathlib.Path):
    """The client has no credentials of the store: it sends its file to a signed URL."""
    path = tmp_path / "mine.txt"
    path.write_text("from the client")
    assert result(kinds.read_file, flyte.io.File.from_local_sync(str(path)))[0] == "from the client"


def test_report_by_link(outside: Outside, sdk: Replica):
    handle = flyte.run(context.reporting, "a report from outside")
    succeed(handle)
    assert "a report from outside" in handle.get_report()
    status, answer = sdk.call("flyteidl2.dataproxy.DataProxyService/CreateDownloadLink", {
        "artifactType": "ARTIFACT_TYPE_REPORT", "actionAttemptId": {"attempt": 1, "actionId": {
            "name": "a0", "run": {"project": "flytesnacks", "domain": "development", "name": handle.name}}}})
    assert status == 200, answer
    link = answer["preSignedUrls"]["signedUrl"][0]
    assert link.startswith(outside.s3 + "/"), link
    assert "a report from outside" in urllib.request.urlopen(link, timeout=120).read().decode()
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(link.replace("report", "re.port", 1), timeout=120)


def test_logs_after_the_end(outside: Outside, sdk: Replica, tmp_path: pathlib.Path):
    handle = flyte.run(context.prints, 50)
    succeed(handle)
    eventually(lambda: not [n for n in outside.leftovers() if handle.name in n], what="the end of the pod")
    out = command_line(sdk, tmp_path)("get", "logs", handle.name)
    assert "line 00000" in out and "line 00049" in out


def test_failing_task(sdk):
    handle = flyte.run(failing.passes_on)
    assert finish(handle) == "failed"
    error = remote.RunDetails.get(handle.name).action_details.error_info
    assert "not caught" in error.message and error.kind == 1


def test_abort(sdk, tmp_path: pathlib.Path):
    handle = flyte.run(failing.holds_sleepers, str(tmp_path), 2)
    eventually(lambda: len(list(tmp_path.glob("pid*.child"))) == 2, what="two sleepers")
    pids = [int(p.read_text()) for p in tmp_path.glob("pid*")]
    remote.Run.get(handle.name).abort("enough of it")
    assert finish(handle) == "aborted"
    for pid in pids:
        eventually(lambda: not alive(pid), what=f"the end of process {pid}")


def test_deploy_then_run_by_reference(sdk):
    version = uuid.uuid4().hex[:12]
    flyte.deploy(basic.env, version=version)
    handle = flyte.run(remote.Task.get("basic.add", version=version), x=4)
    assert succeed(handle)[0] == 5


def launch(ledger: pathlib.Path, n: int):
    ledger.mkdir()
    handle = flyte.run(storm.parent, n, str(ledger))
    eventually(lambda: len(list(ledger.iterdir())) >= n // 4, what="a quarter of the children")
    assert len(list(ledger.iterdir())) < n, "it is too late to disturb the run"
    return handle


def check(handle, ledger: pathlib.Path, n: int) -> None:
    """The run succeeds and each child ran once, or once per attempt."""
    eventually(lambda: remote.Run.get(handle.name).done(), what="the end of the run")
    assert phase_of(handle) == "succeeded", remote.RunDetails.get(handle.name).action_details.error_info
    assert remote.Run.get(handle.name).outputs()[0] == list(range(n))
    found = list(remote.Action.listall(for_run_name=handle.name))
    assert len(found) == n + 1
    executions = collections.Counter(p.name.split(".")[0] for p in ledger.iterdir())
    again = {i: c for i, c in executions.items() if c > 1}
    assert set(executions) == {str(i) for i in range(n)}
    assert len(again) <= sum(1 for a in found if a.pb2.status.attempts > 1), again


def test_kill_the_server_in_the_middle_of_a_run(sdk: Replica, tmp_path: pathlib.Path):
    handle = launch(tmp_path / "ledger", 24)
    sdk.kill()
    sdk.start()
    check(handle, tmp_path / "ledger", 24)


@pytest.mark.parametrize("name", ["postgres", "kubernetes", "node"])
def test_kill_a_dependency(outside: Outside, sdk: Replica, tmp_path: pathlib.Path, name: str):
    handle = launch(tmp_path / "ledger", 16)
    part = outside.parts[name]
    os.killpg(part.process.pid, signal.SIGKILL) if name == "postgres" else part.process.kill()
    part.process.wait()
    eventually(lambda: name == "node" or not sdk.ready(), what="the end of readiness")
    part.start()
    eventually(sdk.ready, what="readiness")
    check(handle, tmp_path / "ledger", 16)


def test_nothing_stays_in_the_cluster(outside: Outside, sdk: Replica):
    assert result(basic.gathered, 2)[0] == [10, 11]
    eventually(lambda: not outside.leftovers(), what="an empty cluster")


def test_object_store_outage(outside: Outside, sdk: Replica):
    outside.parts["s3"].stop()
    doctor = slim("doctor", "--config", str(sdk.config))
    assert doctor.returncode == 3, doctor.stdout
    lines = doctor.stdout.splitlines()
    assert sum(line.startswith("ok") for line in lines) == 7, doctor.stdout
    sick = next(line for line in lines if line.startswith("FAIL"))
    assert sick.startswith("FAIL  storage: ") and "connection refused" in sick, sick
    assert "fix: check storage.url" in doctor.stdout and "1 problem found" in doctor.stdout
    with pytest.raises(urllib.error.HTTPError) as not_ready:
        urllib.request.urlopen(f"{sdk.url}/readyz", timeout=120)
    assert not_ready.value.code == 503 and "storage: " in not_ready.value.read().decode()
    assert urllib.request.urlopen(f"{sdk.url}/healthz", timeout=120).status == 200, "the process is healthy"

    outside.parts["s3"].start()
    eventually(sdk.ready, what="readiness")
    assert result(basic.add, 1, 2)[0] == 3


def test_doctor_reports_a_wrong_key(sdk: Replica):
    doctor = slim("doctor", "--config", str(sdk.config), "--set", "storage.s3.secretAccessKey=another")
    assert doctor.returncode == 3
    assert "FAIL  storage: " in doctor.stdout and "SignatureDoesNotMatch" in doctor.stdout, doctor.stdout


@pytest.fixture
def replicas(outside: Outside, only: Replica):
    """Two servers on the same database and cluster, and the address of the proxy in front of both."""
    only.stop()
    balancer = Balancer()
    balancer.start()
    mark = uuid.uuid4().hex[:4]
    both = [Replica(outside, f"{name}-{mark}", endpoint=balancer.endpoint, elect=True) for name in ("one", "other")]
    try:
        for replica in both:
            replica.start()
        balancer.behind = [replica.port for replica in both]
        yield both
    finally:
        for replica in both:
            replica.stop()
        balancer.stop()
        only.start()


def test_two_replicas(replicas: list[Replica], tmp_path: pathlib.Path):
    one, other = replicas
    # Created at one replica, watched at the other.
    connect(one)
    handle = flyte.run(basic.gathered, 3)
    connect(other)
    watched = remote.Run.get(handle.name)
    watched.wait(quiet=True)
    assert phase_of(handle) == "succeeded"
    assert watched.outputs()[0] == [10, 11, 12]

    # One replica dies in the middle of a run; if the run is in a shard of its own, the other one takes it.
    connect(one)
    handle = launch(tmp_path / "ledger", 24)
    one.kill()
    connect(other)
    check(handle, tmp_path / "ledger", 24)

    # It comes back and takes part.
    one.start()
    connect(one)
    assert result(basic.nested, 1)[0] == 1


def test_console_with_an_object_store(outside: Outside, only: Replica):
    """Runs the console's browser tests that use the object store: uploads, values, logs and reports."""
    done = subprocess.run(
        ["npx", "--no-install", "playwright", "test", "--grep", "@store"],
        cwd=ROOT / "console", env={**os.environ, "CONSOLE_E2E_URL": only.url, "CONSOLE_E2E_STORE": outside.s3},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=1800,
    )
    assert done.returncode == 0, done.stdout[-8000:]
