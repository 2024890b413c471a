"""The server, its database and its API server die in the middle of a wide run. Nothing is lost or executed twice."""

import collections
import os
import pathlib
import shutil
import signal
import subprocess
import threading

import flyte
import flyte.remote as remote
import pytest
from connectrpc.code import Code
from connectrpc.errors import ConnectError

from conftest import connect
from flows import basic, failing, storm
from server import Server, eventually, free_port, processes_naming

# Wide enough that the client lists the actions in more than one page of a hundred.
CHILDREN = 110


def launch(server: Server, ledger: pathlib.Path, n: int):
    connect(server)
    ledger.mkdir()
    handle = flyte.run(storm.mixed_parent, n, str(ledger))
    eventually(lambda: len(list(ledger.iterdir())) >= n // 4, what="a quarter of the children")
    return handle


def done(name: str) -> bool:
    """Whether the run is terminal. While parts restart, the only error that the server may return is unavailable."""
    try:
        return remote.Run.get(name).done()
    except ConnectError as error:
        assert error.code == Code.UNAVAILABLE, error
        return False


def finish(handle, ledger: pathlib.Path, n: int) -> None:
    eventually(lambda: done(handle.name), what="the end of the run")
    assert "succeeded" in str(remote.Run.get(handle.name).phase).lower(), remote.RunDetails.get(handle.name).action_details.error_info
    assert remote.Run.get(handle.name).outputs()[0] == list(range(n))
    found = list(remote.Action.listall(for_run_name=handle.name))
    assert len(found) == n + 1
    assert {str(a.phase).rsplit(".", 1)[-1].lower() for a in found} == {"succeeded"}
    executions = collections.Counter(p.name.split(".")[0] for p in ledger.iterdir())
    assert set(executions) == {str(i) for i in range(n)}
    again = {i: c for i, c in executions.items() if c > 1}
    attempts = {a.name: a.pb2.status.attempts for a in found}
    assert len(again) <= sum(1 for c in attempts.values() if c > 1), f"executed again without a new attempt: {again}"


def test_kill_server(fragile: Server, tmp_path: pathlib.Path):
    handle = launch(fragile, tmp_path / "ledger", CHILDREN)
    fragile.kill()
    fragile.start()
    finish(handle, tmp_path / "ledger", CHILDREN)


def test_a_storm_of_warm_tasks(fragile: Server, tmp_path: pathlib.Path):
    """Python tasks start warm while their warm parent and then the server are killed, and another run is aborted. FLYTE_WARM_STORM is
    their number."""
    n, ledger, held = int(os.environ.get("FLYTE_WARM_STORM", "24")), tmp_path / "ledger", tmp_path / "held"
    connect(fragile)
    ledger.mkdir()
    held.mkdir()
    other = flyte.run(failing.holds_sleepers, str(held), 2)
    handle = flyte.run(storm.parent, n, str(ledger))
    eventually(lambda: len(list(ledger.iterdir())) >= n // 4, what="a quarter of the children")
    for pid in eventually(lambda: fragile.children("warm parent"), what="a warm parent"):
        os.kill(pid, signal.SIGKILL)
    eventually(lambda: len(list(ledger.iterdir())) >= n // 2, what="half of the children")
    fragile.kill()
    fragile.start()
    eventually(lambda: len(list(held.glob("pid*.child"))) == 2, what="the children of the other run")
    remote.Run.get(other.name).abort("enough of it")
    finish(handle, ledger, n)
    eventually(lambda: done(other.name), what="the end of the aborted run")
    assert {str(a.phase).rsplit(".", 1)[-1].lower() for a in remote.Action.listall(for_run_name=other.name)} == {"aborted"}
    for name in (handle.name, other.name):
        eventually(lambda: not processes_naming(name), what=f"the end of every process of {name}")


def test_kill_postgres(fragile: Server, tmp_path: pathlib.Path):
    handle = launch(fragile, tmp_path / "ledger", 40)
    victims = fragile.children("postgres")
    assert victims, "no Postgres child found"
    for pid in victims:
        os.kill(pid, signal.SIGKILL)
    finish(handle, tmp_path / "ledger", 40)


def test_kill_api_server(fragile: Server, tmp_path: pathlib.Path):
    handle = launch(fragile, tmp_path / "ledger", 40)
    victims = fragile.children("kube")
    assert victims, "no API server child found"
    for pid in victims:
        os.kill(pid, signal.SIGKILL)
    finish(handle, tmp_path / "ledger", 40)


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_another_port(fragile: Server, tmp_path: pathlib.Path, how: str):
    """Runs go on behind another port, also those whose processes outlived the server and know the one before."""
    handle = launch(fragile, tmp_path / "ledger", 40)
    getattr(fragile, how)()
    fragile.port = free_port()
    fragile.start()
    connect(fragile)
    finish(handle, tmp_path / "ledger", 40)


def test_duplicate_enqueue_storm(server: Server):
    connect(server)
    handle = flyte.run(basic.slow, 600.0)
    run_id = {"project": "flytesnacks", "domain": "development", "name": handle.name}
    details = remote.RunDetails.get(handle.name).action_details
    from google.protobuf import json_format

    spec = json_format.MessageToDict(details.pb2.task)
    body = {"action": {
        "actionId": {"run": run_id, "name": "twin"}, "parentActionName": "a0",
        "inputUri": f"{server.data}/blobs/flytesnacks/development/nowhere/inputs.pb", "runOutputBase": "/nowhere/", "task": {"spec": spec},
    }}
    answers: list[tuple[int, dict]] = []

    def call() -> None:
        for _ in range(10):
            answers.append(server.call("flyteidl2.actions.ActionsService/Enqueue", body))

    threads = [threading.Thread(target=call) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 160
    assert {status for status, _ in answers} <= {200, 409}, [a for a in answers if a[0] not in (200, 409)][:3]
    assert [a.name for a in remote.Action.listall(for_run_name=handle.name)].count("twin") == 1
    remote.Run.get(handle.name).abort("the storm is over")


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("iptables"), reason="cutting a connection silently needs root and iptables")
def test_half_open_watch_does_not_hang_a_parent(server: Server, tmp_path: pathlib.Path):
    """The packets of a waiting parent's connections vanish, in both directions and for good, without any reset.

    Story R5: parents hung for hours after the server was restarted, on a watch whose connection was dead.
    """
    connect(server)
    handle = flyte.run(storm.waits_for_file, str(tmp_path / "go"))
    pid = int(eventually(lambda: (tmp_path / "go.parent").exists() and (tmp_path / "go.parent").read_text(), what="the parent"))
    eventually(lambda: (tmp_path / "go.child").exists(), what="the child")
    cut = connections(pid, server.port)
    assert cut, "the parent has no connection to the server"
    rules = [["INPUT", "-i", "lo", "-p", "tcp", way, str(port), other, str(server.port), "-j", "DROP"]
             for port in cut for way, other in (("--sport", "--dport"), ("--dport", "--sport"))]
    for rule in rules:
        subprocess.run(["iptables", "-A", *rule], check=True)
    try:
        (tmp_path / "go").write_text("now")
        eventually(lambda: remote.Run.get(handle.name).done(), what="the end of the run")
    finally:
        for rule in rules:
            subprocess.run(["iptables", "-D", *rule], check=True)
    assert remote.Run.get(handle.name).outputs()[0] == 1


def connections(pid: int, port: int) -> list[int]:
    """The local ports of a process's connections to a port of this machine."""
    inodes = set()
    for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = os.readlink(fd)
        except OSError:
            continue
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    found = []
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[9] in inodes and int(fields[2].rsplit(":", 1)[1], 16) == port:
                found.append(int(fields[1].rsplit(":", 1)[1], 16))
    return found


def test_stop_leaves_no_process(fragile: Server):
    """Not even of a demo whose server, API server and database were killed before. It stays stopped until a test wants it."""
    flyte.run(basic.slow, 600.0)
    run_dir = str(fragile.data)
    eventually(lambda: processes_naming(run_dir), what="processes of the demo")
    fragile.stop()
    eventually(lambda: not processes_naming(run_dir), what="the end of every process")
