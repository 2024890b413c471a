"""Retention deletes old runs and nothing else; logs outlive pods, whatever removed the pods."""

from __future__ import annotations

import pathlib
import subprocess
import uuid

import flyte
import flyte.remote as remote
import pytest

from conftest import connect
from flows import basic, logs
from server import BINARY, Server, eventually


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory):
    """A server of its own, since retention would delete the runs of other tests."""
    instance = Server(tmp_path_factory.mktemp("retention"))
    instance.start()
    connect(instance)
    yield instance
    instance.stop()


def retention(server: Server, *words: str) -> str:
    """Runs the retention command on the database and the files of a running demo."""
    postgres = server.data / "postgres"
    address = (postgres / "data" / "postmaster.pid").read_text().splitlines()
    folder, port, secret = address[4], address[3], (postgres / "flyte-password").read_text().strip()
    done = subprocess.run(
        [str(BINARY), "retention", *words,
         "--set", f"database.url=postgres://flyte:{secret}@/flyte?host={folder}&port={port}",
         "--set", f"storage.url=file://{server.data / 'blobs'}",
         "--set", "runs.retention.grace=0s", "--set", "runs.retention.maxRuns=1"],
        text=True, capture_output=True, timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def names() -> list[str]:
    return [run.name for run in remote.Run.listall()]


def files(server: Server, run: str) -> list[pathlib.Path]:
    return [path for folder in folders(server, run) for path in folder.rglob("*.*")]


def folders(server: Server, run: str) -> list[pathlib.Path]:
    """The directory of a run, whose name ends in a mark."""
    return list((server.data / "blobs" / "flytesnacks" / "development").glob(f"{run}.*"))


def test_only_runs_beyond_the_limit_are_deleted(own: Server):
    old = flyte.run(basic.gathered, 2)
    old.wait(quiet=True)
    kept = flyte.run(basic.hello, "you")
    kept.wait(quiet=True)
    assert files(own, old.name) and files(own, kept.name)

    told = retention(own, "--dry-run")
    assert old.name in told and kept.name not in told and "1 runs with 3 actions" in told
    assert old.name in names()

    assert "deleted 1 runs" in retention(own, "--now")
    assert names() == [kept.name]
    assert not files(own, old.name)
    with pytest.raises(Exception, match="(?i)not.?found|does not exist"):
        remote.RunDetails.get(old.name)
    assert remote.Run.get(kept.name).outputs()[0] == "hello you"
    assert "deleted 0 runs" in retention(own, "--now")


def started(server: Server, mark: str) -> flyte.remote.Run:
    """A run whose task has printed its line, which the node keeps in a file."""
    run = flyte.run(logs.waiting, mark)

    def said() -> bool:
        return any(mark.encode() in content for _, content in server.files("node/pods"))

    eventually(said, what="the line of the task")
    return run


def told(server: Server, run: str, attempt: int) -> list[str]:
    """The stored log of an attempt's primary container, without times."""
    logs = [path for folder in folders(server, run) for path in (folder / "a0" / str(attempt) / "_logs").glob("*.log")]
    return [line.split(" ", 1)[1] for path in logs for line in path.read_text().splitlines()]


def test_log_of_an_aborted_run_is_kept(own: Server):
    mark = uuid.uuid4().hex
    run = started(own, mark)
    run.abort()
    eventually(lambda: any(mark in line for line in told(own, run.name, 1)), what="the log is stored")


def test_log_of_a_pod_deleted_from_outside_is_kept(own: Server):
    mark = uuid.uuid4().hex
    run = started(own, mark)
    kube = own.data / "kubernetes" / "kubeconfig"
    delete_pod(kube, run.name)
    eventually(lambda: any(mark in line for line in told(own, run.name, 1)), what="the log is stored")
    run.abort()


def delete_pod(kubeconfig: pathlib.Path, run: str) -> None:
    """kubectl delete pod -l flyte.org/run=..., without kubectl."""
    import ssl
    import tempfile
    import urllib.request
    from base64 import b64decode

    import yaml

    config = yaml.safe_load(kubeconfig.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]

    def given(section: dict, name: str) -> str:
        if name in section:
            return section[name]
        with tempfile.NamedTemporaryFile(delete=False) as file:
            file.write(b64decode(section[f"{name}-data"]))
        return file.name

    context = ssl.create_default_context(cafile=given(cluster, "certificate-authority"))
    headers = {}
    if "token" in user:
        headers["Authorization"] = f"Bearer {user['token']}"
    else:
        context.load_cert_chain(given(user, "client-certificate"), given(user, "client-key"))
    request = urllib.request.Request(
        f"{cluster['server']}/api/v1/namespaces/flytesnacks-development/pods?labelSelector=flyte.org%2Frun%3D{run}", method="DELETE", headers=headers)
    with urllib.request.urlopen(request, context=context, timeout=120) as answer:
        assert answer.status == 200
