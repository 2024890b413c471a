"""Clusters of processes on one machine (docs/demo.md), with what the SDK itself has: pods of a ClusteredTaskEnvironment."""

import contextlib
import json
import pathlib
import struct
import subprocess
import urllib.request

import flyte
import flyte.remote as remote
import pytest

import recovery
from conftest import command_line, connect
from flows import members, on_jobset
from server import AS_USER, WITHOUT_NAMESPACES, Server, alive, environ, eventually, refused
from test_flows import phase_of, result


@pytest.fixture(scope="module")
def machine(tmp_path_factory, home):
    instance = Server(tmp_path_factory.mktemp("members"), "--with", "jobset")
    instance.start()
    yield instance
    instance.stop()


@pytest.fixture(autouse=True)
def connected(machine):
    connect(machine)


def pids(folder: pathlib.Path, number: int = 2) -> list[int]:
    """The processes of the members, once all run."""
    def found():
        texts = [file.read_text() for file in sorted(folder.glob("pid-*"))]
        return [int(text) for text in texts] if len(texts) == number and all(texts) else None
    return eventually(found, what="all members run")


def details_of(machine: Server, run: str) -> dict:
    return machine.call("flyteidl2.workflow.RunService/GetActionDetails", {"actionId": action(run)})[1]["details"]["attempts"][-1]


def names(machine: Server, run: str) -> list[str]:
    """The pods of the last attempt of a run's first action."""
    return sorted(pod["podName"] for pod in details_of(machine, run).get("logContext", {}).get("pods", []))


def action(run: str) -> dict:
    return {"run": {"org": "flyte", "project": "flytesnacks", "domain": "development", "name": run}, "name": "a0"}


def log_of(machine: Server, run: str, pod: str) -> str:
    """What a pod of a run's first action has printed so far."""
    body = json.dumps({"actionId": action(run), "attempt": 1, "podName": pod}).encode()
    request = urllib.request.Request(
        f"{machine.url}/flyteidl2.dataproxy.DataProxyService/TailLogs", data=b"\0" + struct.pack(">I", len(body)) + body,
        headers={"Content-Type": "application/connect+json"},
    )
    lines = []
    with contextlib.suppress(TimeoutError), urllib.request.urlopen(request, timeout=5) as answer:
        while True:
            flag, length = struct.unpack(">BI", answer.read(5))
            part = json.loads(answer.read(length))
            if flag & 2:
                break
            lines += [line["message"] for logs in part.get("logs", []) for line in logs.get("lines", [])]
    return "\n".join(lines)


def test_members_talk_at_addresses_of_their_own(machine: Server):
    assert result(members.talk, "hello")[0] == "hello True True"


def test_clusters_with_the_same_port_run_at_the_same_time(machine: Server):
    handles = [flyte.run(members.talk, str(number)) for number in range(2)]
    for handle in handles:
        handle.wait(quiet=True)
    assert [phase_of(handle) for handle in handles] == ["succeeded", "succeeded"]
    assert [handle.outputs()[0] for handle in handles] == ["0 True True", "1 True True"]


def test_an_action_says_how_it_runs(machine: Server):
    handle = flyte.run(members.talk, "note")
    handle.wait(quiet=True)
    events = [event.get("message", "") for event in details_of(machine, handle.name).get("clusterEvents", [])]
    assert any("a cluster of processes on this machine, started by the demo and not by the JobSet controller" in text for text in events), events


class Logs:
    """A link that differs by pod."""

    name, icon_uri = "logs", ""

    def get_link(self, pod_name: str, **_) -> str:
        return f"https://logs.example/{pod_name}"


def test_each_member_has_its_link(machine: Server):
    handle = flyte.run(members.talk.override(links=(Logs(),)), "links")
    handle.wait(quiet=True)
    first, second = names(machine, handle.name)
    links = {link["name"]: link["uri"] for link in details_of(machine, handle.name)["logInfo"]}
    assert links == {"logs": f"https://logs.example/{first}", f"logs ({second})": f"https://logs.example/{second}"}


def test_the_member_that_failed_is_named(machine: Server, tmp_path: pathlib.Path):
    handle = flyte.run(members.second_fails, str(tmp_path))
    handle.wait(quiet=True)
    assert phase_of(handle) == "failed"
    error = remote.RunDetails.get(handle.name).action_details.error_info
    assert "workers-0-1" in error.message, error
    assert "the second member fails" in error.message, error


def test_all_members_start_again(machine: Server, tmp_path: pathlib.Path):
    assert result(members.fails_once, str(tmp_path))[0] == "1"


def test_the_log_of_each_member_is_read_live_and_kept(machine: Server, tmp_path: pathlib.Path):
    handle = flyte.run(members.waits, str(tmp_path))
    pids(tmp_path)
    pods = eventually(lambda: len(found := names(machine, handle.name)) == 2 and found, what="both pods are known")
    for number, pod in enumerate(pods):
        eventually(lambda: f"member {number} waits" in log_of(machine, handle.name, pod), what=f"the live log of {pod}")  # noqa: B023
    (tmp_path / "enough").touch()
    handle.wait(quiet=True)
    assert phase_of(handle) == "succeeded"
    for number, pod in enumerate(pods):
        eventually(lambda: f"member {number} waits" in log_of(machine, handle.name, pod), what=f"the kept log of {pod}")  # noqa: B023


def test_an_abort_leaves_no_process(machine: Server, tmp_path: pathlib.Path):
    handle = flyte.run(members.waits, str(tmp_path))
    running = pids(tmp_path)
    handle.abort()
    eventually(lambda: not any(alive(pid) for pid in running), what="the members end")
    assert phase_of(handle) == "aborted"


LIMITS = {"runtime": flyte.Timeout(max_runtime=2), "queue": flyte.Timeout(max_queued_time=2), "deadline": flyte.Timeout(deadline=4)}


@pytest.mark.parametrize("limit", LIMITS)
def test_a_cluster_has_the_time_limits_of_its_task(machine: Server, tmp_path: pathlib.Path, limit: str):
    """In a queue it waits for room that this machine does not have."""
    task = members.waits.override(timeout=LIMITS[limit], resources=flyte.Resources(cpu="500" if limit == "queue" else "100m", memory="250Mi"))
    handle = flyte.run(task, str(tmp_path))
    handle.wait(quiet=True)
    assert phase_of(handle) == "timed_out"

    def rest() -> list[int]:
        numbers = (int(entry.name) for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit())
        return [pid for pid in numbers if handle.name in environ(pid) and alive(pid)]

    eventually(lambda: not rest(), what="the members end")


def test_recovery_runs_only_the_cluster_that_failed(machine: Server, tmp_path: pathlib.Path):
    cli = command_line(machine, tmp_path)

    def rerun(run: str, recover: bool) -> str:
        name = f"{run[:20]}-{'rec' if recover else 'all'}"
        cli("rerun", run, *(["--recover"] if recover else []), "--name", name)
        return name

    recovery.check(on_jobset.both, tmp_path / "gangs", rerun)


def test_a_killed_demo_goes_on_with_its_members(machine: Server, tmp_path: pathlib.Path):
    handle = flyte.run(members.waits, str(tmp_path))
    running = pids(tmp_path)
    machine.kill()
    machine.start()
    assert all(alive(pid) for pid in running)
    (tmp_path / "enough").touch()
    connect(machine)
    remote.Run.get(handle.name).wait(quiet=True)
    assert phase_of(handle) == "succeeded"


def test_a_stopped_demo_leaves_no_process_and_its_action_ends(machine: Server, tmp_path: pathlib.Path):
    handle = flyte.run(members.waits, str(tmp_path))
    running = pids(tmp_path)
    machine.stop()
    assert not any(alive(pid) for pid in running)
    machine.start()
    connect(machine)
    (tmp_path / "enough").touch()  # for members that start again
    remote.Run.get(handle.name).wait(quiet=True)
    assert phase_of(handle) in ("succeeded", "failed")


@pytest.fixture(scope="module")
def without_root(tmp_path_factory, home):
    if why := refused(AS_USER):
        pytest.skip(f"this machine allows no user namespaces: {why}")
    instance = Server(tmp_path_factory.mktemp("user"), "--with", "jobset,ray,dask,pytorch", within=AS_USER)
    instance.start()
    yield instance
    instance.stop()


def test_a_user_without_root_has_clusters(without_root: Server):
    connect(without_root)
    assert result(members.talk, "hello")[0] == "hello True True"


def test_an_abort_leaves_no_process_without_root(without_root: Server, tmp_path: pathlib.Path):
    connect(without_root)
    handle = flyte.run(members.waits, str(tmp_path))
    running = pids(tmp_path)
    handle.abort()
    eventually(lambda: not any(alive(pid) for pid in running), what="the members end")


def test_a_user_without_namespaces_is_told_what_is_missing(tmp_path: pathlib.Path):
    if why := refused(WITHOUT_NAMESPACES):
        pytest.skip(f"this machine allows no user namespaces: {why}")
    command = Server(tmp_path, "--with", "ray,jobset,pytorch", within=WITHOUT_NAMESPACES).command()
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 3, done
    assert "clusters: run clusters of jobset and pytorch: " in done.stderr
    assert "or leave jobset and pytorch out of --with" in done.stderr
    assert not (tmp_path / "data").exists(), "it starts nothing before it looks"
