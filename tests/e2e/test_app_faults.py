"""Apps under load while things break: a replica, the server, its API server and database, a new revision, the memory, the port,
slow clients, the whole demo. The programs are processes of the local node; requests go through the gateway unless a test says
otherwise."""

from __future__ import annotations

import contextlib
import os
import pathlib
import select
import signal
import socket
import threading
import time

import flyte
import flyte.app
import flyte.remote as remote
import pytest
from flyte.remote._logs import AppLogs

from conftest import ROOT, connect
from load import Load
from server import Server, alive, eventually

PLACE = {"project": "flytesnacks", "domain": "development"}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory, home):
    short = ["apps.startTimeout=8s", "apps.drain=1s", "server.headerTimeout=2s", "server.bodyTimeout=2s"]
    instance = Server(tmp_path_factory.mktemp("app-faults"), *(word for setting in short for word in ("--set", setting)))
    yield instance
    instance.stop()


@pytest.fixture
def own(demo: Server):
    """The file's server, running, whatever the test before did to it; without apps afterwards."""
    if demo.process is None or demo.process.poll() is not None:
        demo.start()
    connect(demo)
    yield demo
    if demo.process.poll() is None:
        for app in remote.App.listall():
            remote.App.delete(app.name)


def deploy(name: str, *, replicas: int = 1, port: int | None = None, **variables: str) -> None:
    """Deploys the program of flows/faulty_app.py. Each replica gets a port of its own, unless there is a fixed one."""
    program = ["python", "-S", str(ROOT / "flows" / "faulty_app.py"), str(port) if port else "$(PORT)"]
    env = flyte.app.AppEnvironment(
        name=name, image="auto", command=program, port=port or 8080, requires_auth=False, env_vars=variables,
        scaling=flyte.app.Scaling(replicas=(replicas, replicas)), resources=flyte.Resources(cpu="50m", memory="100Mi"),
    )
    flyte.deploy(env, copy_style="none", version="1")


def explain(server: Server, name: str) -> dict:
    status, answer = server.call("flytebinary.insight.v1.AppInsightService/ExplainApp", {"appId": {**PLACE, "name": name}})
    assert status == 200, answer
    return answer


def state(server: Server, name: str) -> dict:
    """The last condition of an app."""
    return explain(server, name)["app"]["status"]["conditions"][-1]


def replicas(server: Server, name: str) -> list[dict]:
    return [replica for replica in explain(server, name).get("replicas", []) if not replica.get("gone")]


def served(server: Server, name: str, count: int = 1) -> str:
    """Waits until an app has so many ready replicas and no others; returns its address."""
    def ready() -> bool:
        found = replicas(server, name)
        return len(found) == count and all(replica.get("ready") for replica in found)

    eventually(ready, what=f"{count} ready replicas of {name}")
    return f"http://127.0.0.1:{server.port}/apps/{PLACE['project']}/{PLACE['domain']}/{name}/"


def told(name: str, word: str) -> None:
    """Waits until the word is a line in the logs of an app, over all of its replicas."""
    found = threading.Event()

    def tail() -> None:  # the stream has no end
        for line in AppLogs.tail(remote.App.get(name).pb2.metadata.id):
            if line.message.strip().endswith(word):
                found.set()
                return

    threading.Thread(target=tail, daemon=True).start()
    eventually(found.is_set, what=f"the line {word} in the logs of {name}")


def kill(pid: int) -> float:
    """kill -9; returns a moment at which the process and its connections are gone."""
    process = os.pidfd_open(pid)
    os.kill(pid, signal.SIGKILL)
    select.select([process], [], [])
    os.close(process)
    return time.monotonic()


def test_processes_end(own: Server, tmp_path: pathlib.Path):
    """One of two replicas is killed, and another app uses more memory than it may. The node starts both again ten seconds later."""
    hungry = tmp_path / "hungry"
    deploy("pair", replicas=2)
    deploy("eater", HUNGRY=str(hungry))
    with Load(served(own, "pair", 2)) as load, Load(served(own, "eater"), rate=20) as waiting:
        first = eventually(lambda: len(load.pids()) == 2 and load.pids(), what="answers of both replicas")
        [eater] = eventually(waiting.pids, what="an answer of the eater")
        hungry.touch()
        dead = kill(min(first))
        load.more(100)
        assert load.pids(dead) == {max(first)}

        explained = eventually(lambda: state(own, "eater").get("substate") == "OOM_KILLED" and explain(own, "eater"), what="the end of the eater")
        hungry.unlink()
        [replica] = [one for one in explained["replicas"] if ".attempt-" not in one["name"]]
        for text in (replica["reason"], explained["summary"], explained["advice"]):
            assert "memory" in text, explained

        served(own, "pair", 2)
        eventually(lambda: load.pids(dead) - first, what="an answer of the replica that was started again")
        served(own, "eater")  # also where it took so long that the app had failed
        eventually(lambda: waiting.pids() - {eater}, what="an answer of the eater that was started again")
    # Only what a process may have had when it ended is lost. Others go to the other replica, or wait.
    assert [answer for answer in load.broken() if answer.began > dead or answer.status != 502] == []
    assert len(load.broken()) <= load.WORKERS
    assert {answer.status for answer in waiting.broken()} <= {502} and len(waiting.broken()) <= waiting.WORKERS
    assert sorted(replica.get("restarts", 0) for replica in replicas(own, "pair")) == [0, 1]
    assert replicas(own, "eater")[0]["restarts"] >= 1
    assert state(own, "eater")["deploymentStatus"] == "DEPLOYMENT_STATUS_ACTIVE"


def test_the_server_is_killed(own: Server):
    deploy("steady")
    url = served(own, "steady")
    with Load(url + "before-the-kill") as load:
        load.more(20)
    told("steady", "before-the-kill")
    direct = f"http://127.0.0.1:{load.answers[-1].content['port']}/"
    with Load(direct) as beside, Load(url) as load:
        load.more(20)
        own.kill()
        beside.more(100)
        own.start()
        back = time.monotonic()
        eventually(lambda: load.pids(back), what="an answer through the gateway")
        load.more(100)
    assert beside.broken() == []
    assert [answer for answer in load.broken() if answer.began > back] == []
    assert {answer.status for answer in load.broken()} <= {0, 503}
    assert len(beside.pids() | load.pids()) == 1, "one process, all the time"
    assert [replica.get("restarts", 0) for replica in replicas(own, "steady")] == [0]
    told("steady", "before-the-kill")


@pytest.mark.parametrize("part", ["kube", "postgres"])
def test_a_part_of_the_server_is_killed(own: Server, part: str):
    deploy("steady")
    with Load(served(own, "steady")) as load:
        load.more(20)
        victims = own.children(part)
        assert victims, f"no child {part} found"
        for pid in victims:  # it does not answer for a while, and then it is gone
            os.kill(pid, signal.SIGSTOP)
        load.more(100)
        for pid in victims:
            kill(pid)
        load.more(100)
        eventually(lambda: set(own.children(part)) - set(victims), what=f"another {part}")
        eventually(own.ready, what="the server")
        deploy("steady", VERSION="2")
        eventually(lambda: load.answers[-1].content.get("version") == "2", what="an answer of a new revision")
    assert load.broken() == []


def test_a_revision_is_never_ready(own: Server):
    deploy("steady", VERSION="1")
    with Load(served(own, "steady")) as load:
        deploy("steady", VERSION="2", BROKEN="the model is not there")
        failed = eventually(
            lambda: (last := state(own, "steady"))["deploymentStatus"] == "DEPLOYMENT_STATUS_FAILED" and last, what="the failure of revision 2")
        load.more(100)
    assert load.broken() == []
    assert {answer.content["version"] for answer in load.answers} == {"1"}
    assert failed["revision"] == "2" and failed["substate"] == "CRASH_LOOP", failed
    for words in ("revision 2 failed", "the model is not there", "revision 1 still serves"):
        assert words in failed["message"], failed


def test_a_port_that_is_taken(own: Server):
    """The replica listens on another port, and does not know."""
    with contextlib.closing(socket.socket()) as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        deploy("fixed", port=other.getsockname()[1])
        with Load(served(own, "fixed")) as load:
            load.more(20)
    assert load.broken() == []
    assert replicas(own, "fixed")[0].get("restarts", 0) == 0


def test_slow_clients(own: Server):
    deploy("steady")
    url = served(own, "steady")
    header = f"POST {url.removeprefix(f'http://127.0.0.1:{own.port}')} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n"
    begin = {"a slow header": header, "a slow body": header + "\r\n", "no body": header + "\r\n"}
    slow: dict[socket.socket, str] = {}
    with contextlib.ExitStack() as opened, Load(url) as load:
        for turn in range(200):
            kind = list(begin)[turn % len(begin)]
            client = opened.enter_context(socket.create_connection(("127.0.0.1", own.port)))
            client.sendall(begin[kind].encode())
            slow[client] = kind
        all_open, deadline, first_closed = time.monotonic(), time.monotonic() + 300, None
        while slow:
            assert time.monotonic() < deadline, f"{len(slow)} connections are still open: {set(slow.values())}"
            for client in select.select(list(slow), [], [], 0.2)[0]:
                with contextlib.suppress(ConnectionError):
                    if client.recv(1 << 16):
                        continue  # it is told why
                del slow[client]
                first_closed = first_closed or time.monotonic()
            for client, kind in slow.items():
                if kind != "no body":
                    with contextlib.suppress(ConnectionError):
                        client.sendall(b"x")
    assert load.broken() == []
    assert [answer for answer in load.answers if all_open < answer.began and answer.ended < first_closed], "others are served meanwhile"


def test_the_demo_is_stopped_and_started(own: Server):
    deploy("steady")
    url = served(own, "steady")
    with Load(url + "before-the-stop") as load:
        load.more(20)
    told("steady", "before-the-stop")
    [before] = load.pids()
    own.stop()
    assert not alive(before)
    own.start()
    with Load(served(own, "steady")) as load:
        load.more(20)
    assert load.broken() == []
    assert before not in load.pids()
    told("steady", "before-the-stop")
