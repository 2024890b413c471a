"""Attacks by amounts: many actions, large messages, many connections and calls, large data."""

from __future__ import annotations

import concurrent.futures
import contextlib
import datetime
import gzip
import json
import os
import pathlib
import select
import socket
import urllib.error
import urllib.request
import uuid

import pytest

from penetration.observed import logged, metric, peak
from server import Server, eventually
from tenants import ACTIONS, CUT, DOMAIN, PROJECTS, PROXY, RUNS, Tenant, Victim, put
from test_access import Browser


def ended_children(tenant: Tenant, run: dict) -> list[dict] | None:
    """All conditions of a run; nothing while one of them has not ended."""
    found, token = [], ""
    while True:
        page = tenant.done(f"{RUNS}/ListActions", {"runId": run, "request": {"limit": 200, "token": token}})
        found += [action for action in page["actions"] if action["id"]["name"] != "a0"]
        if any("endTime" not in action["status"] for action in found):
            return None
        if not (token := page.get("token", "")):
            return found


@pytest.mark.usefixtures("sleeper")
def test_01_the_abort_of_many_actions_stops_no_one_else(attacker: Tenant, victim: Victim):
    """1,500 actions are aborted in portions, between which others write, and not in one transaction."""
    parent = attacker.start("sleep 3600")
    attacker.reaches(parent, "RUNNING")

    def enqueue(number: int) -> None:
        def answered() -> bool:
            status, answer = attacker.call(f"{ACTIONS}/Enqueue", attacker.condition(parent, f"c{number}"))
            assert status in (200, 429), answer  # a limit of requests, which is each caller's own
            return status == 200
        eventually(answered, what=f"the enqueue of c{number}")

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(enqueue, range(1500)))
    attacker.done(f"{RUNS}/AbortRun", {"runId": parent})
    for _ in range(3):
        victim.done(f"{RUNS}/CreateRun", {"runId": (run := victim.run()), "taskSpec": victim.spec("true")})
        victim.done(f"{RUNS}/AbortRun", {"runId": run})
    for name in ("c0", "c750", "c1499"):
        attacker.reaches(parent, "ABORTED", name)
    children = eventually(lambda: ended_children(attacker, parent), what="the end of all actions")
    assert len(children) == 1500
    assert len({child["status"]["endTime"] for child in children}) >= 1500 / 100, "no transaction aborts more than runs.writer.maxSubtree"


def test_03_a_message_that_unpacks_to_a_gigabyte_is_refused_before_it_is_decoded(server: Server, attacker: Tenant):
    """16 KiB on the wire are 8 million empty messages, which took 0.6 GB at least."""
    pathlib.Path(f"/proc/{server.process.pid}/clear_refs").write_text("5")  # the peak is what it is now
    before, empty = peak(server.process.pid), b"\x0a\x00" * (8 << 20)
    length, size = b"", len(empty)
    while size:
        length, size = length + bytes([size & 127 | (128 if size > 127 else 0)]), size >> 7
    for procedure, body, code in (
        ("flyteidl2.workflow.InternalRunService/RecordActionEvents", empty, "permission_denied"),
        (f"{PROXY}/UploadInputs", b"\x32" + length + empty, "resource_exhausted"),
        (f"{RUNS}/GetRunDetails", empty, "resource_exhausted"),
    ):
        request = urllib.request.Request(f"{server.url}/{procedure}", data=gzip.compress(body), headers={
            "Content-Type": "application/proto", "Content-Encoding": "gzip", "Authorization": f"Bearer {attacker.token}"})
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=300)
        answer = json.loads(refused.value.read())
        assert answer["code"] == code, (procedure, answer)
    assert peak(server.process.pid) - before < 256 << 20


class Slow:
    """A connection of the attacker, from another address of this machine, since the limits of connections are those of an address."""

    def __init__(self, server: Server, first: str, then: bytes = b""):
        self.then, self.answer, self.client = then, b"", socket.socket()
        self.client.bind(("127.0.0.2", 0))
        self.client.connect(("127.0.0.1", server.port))
        with contextlib.suppress(ConnectionError):
            self.client.sendall(first.encode())

    def ended(self) -> bool:
        """Goes on with what it sends, and looks whether the server has closed the connection."""
        with contextlib.suppress(ConnectionError):
            self.client.sendall(self.then)
        try:
            while select.select([self.client], [], [], 0)[0]:
                got = self.client.recv(1 << 16)
                if not got:
                    return True
                self.answer += got
        except ConnectionError:
            return True
        return False


def all_end(slow: list[Slow]) -> None:
    left = list(slow)

    def none_left() -> bool:
        left[:] = [one for one in left if not one.ended()]
        return not left

    try:
        eventually(none_left, what="the end of all connections")
    finally:
        for one in slow:
            one.client.close()


def test_16_connections_and_bodies_of_the_attacker_end(server: Server, admin: Browser, attacker: Tenant, victim: Victim):
    """Headers that do not end, bodies that bring nothing, and bodies that bring some bytes a second: the server ends each of them, and says
    why where it has read a request. Meanwhile others are answered."""
    head = f"POST /{RUNS}/ListRuns HTTP/1.1\r\nHost: {server.endpoint}\r\n"
    body = head + f"Authorization: Bearer {attacker.token}\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{{"
    headers = [Slow(server, head + "X-Never: ") for _ in range(80)]
    bodies = [Slow(server, body) for _ in range(80)] + [Slow(server, body, b" ") for _ in range(80)]
    assert victim.phase(victim.standing) == "RUNNING"
    all_end(headers + bodies)
    assert [one.answer[:200] for one in bodies if b"deadline_exceeded" not in one.answer] == []
    assert [one.answer[:200] for one in headers if one.answer.startswith(b"HTTP/1.1 200")] == []


def test_16_connections_of_the_attacker_are_bounded(server: Server, admin: Browser, attacker: Tenant, victim: Victim):
    """More than an address may have are closed, and take nothing from others."""
    refused = lambda: metric(server, admin, r'flyte_port_refused_total\{.*connection')  # noqa: E731
    before = refused()
    slow = [Slow(server, f"POST /{RUNS}/ListRuns HTTP/1.1\r\nHost: {server.endpoint}\r\n") for _ in range(400)]
    assert victim.phase(victim.standing) == "RUNNING"
    all_end(slow)
    assert refused() - before >= 100


def test_20_refused_calls_do_not_fill_the_log(server: Server, admin: Browser, attacker: Tenant, victim: Victim):
    """Ten lines a minute are written of each kind, and the metric counts the rest. The record has each call of someone who has signed in,
    the victim's among them."""
    procedure = f"{PROJECTS}/UpdateProject"
    counted = lambda: metric(server, admin, rf'flyte_rpc_refused_total\{{.*procedure="/{procedure}"')  # noqa: E731
    written = lambda: logged(server, "call refused", procedure)  # noqa: E731
    change = lambda tenant: {"project": {"id": tenant.project, "name": "refused"}}  # noqa: E731
    before, lines = counted(), written()
    for _ in range(300):
        attacker.refused(procedure, change(attacker), "permission_denied")
        status, _ = server.call(procedure, change(victim))
        assert status == 401
    victim.refused(procedure, change(victim), "permission_denied")
    assert counted() - before == 601
    assert 0 < written() - lines <= 60, "for two kinds and up to three minutes"
    search = {"subject": victim.key, "permission": "project.update", "outcome": "refused"}
    recorded = lambda: admin.call("flytebinary.access.v1.AuditService/SearchAudit", search).get("events", [])  # noqa: E731
    eventually(lambda: any(victim.project in json.dumps(event["resources"]) for event in recorded()), what="the record of the victim's call")


def test_21_no_one_fills_the_store(server: Server, admin: Browser, victim: Victim):
    """A signed address stores one content, however often it is used, and a project that has too much gets no more of them."""
    hoarder = Tenant(server, admin, "hoard")
    content = os.urandom(600_000)
    status, location = hoarder.upload(content)
    assert status == 200, location
    assert [put(location, content) for _ in range(3)] == [200] * 3, "the same content again"
    assert put(location, content[::-1]) in (400, 403, 412, CUT), "other content"
    assert put(location, content + b"more") in (400, 403, 413, CUT), "more content"
    assert pathlib.Path(location["nativeUrl"]).read_bytes() == content

    def full() -> bool:
        status, answer = hoarder.upload(os.urandom(500_000), filename=f"{uuid.uuid4().hex}.bin")
        if status == 200:
            return False
        assert answer["code"] == "resource_exhausted" and "project hoard has" in answer["message"], answer
        return True

    for _ in range(2):
        more = os.urandom(500_000)
        status, location = hoarder.upload(more, filename=f"{uuid.uuid4().hex}.bin")
        if status == 200:
            put(location, more)
    eventually(full, what="the refusal of an upload")
    hoarder.refused(f"{RUNS}/CreateRun", {"runId": hoarder.run(), "taskSpec": hoarder.spec("true")}, "resource_exhausted", "project hoard has")
    status, location = victim.upload(more, filename="after.bin")
    assert status == 200 and put(location, more) == 200, location


PUBLISHES = """
import json, pathlib, sys, urllib.request, uuid
url, token, place = sys.argv[1], pathlib.Path(sys.argv[2]).read_text(), json.loads(sys.argv[3])
body = {"artifactId": {"name": {**place, "name": "loop"}, "version": uuid.uuid4().hex}, "spec": {
    "value": {"scalar": {"primitive": {"stringValue": "again"}}}, "type": {"simple": "STRING"}}}
urllib.request.urlopen(urllib.request.Request(
    url + "/flyteidl2.artifact.ArtifactService/CreateArtifact", json.dumps(body).encode(),
    {"Content-Type": "application/json", "Authorization": "Bearer " + token}), timeout=60).read()
"""


def test_second_06_a_trigger_that_feeds_itself_is_slow(attacker: Tenant, victim: Victim, tmp_path: pathlib.Path):
    """Each of its runs publishes two versions, with a key and not as a task, so that the server does not know which run did."""
    tmp_path.chmod(0o755)
    (tmp_path / "token").write_text(attacker.token)
    (tmp_path / "token").chmod(0o644)
    publish = ["python", "-c", PUBLISHES, attacker.server.url, str(tmp_path / "token"), json.dumps(attacker.place)]
    spec = attacker.spec("true")
    spec["taskTemplate"]["id"]["name"] = "tenants.loop"
    spec["taskTemplate"]["container"].update(command=["sh", "-ec", '"$@"; "$@"', "sh"], args=publish)
    attacker.done("flyteidl2.task.TaskService/DeployTask", {"taskId": spec["taskTemplate"]["id"], "spec": spec})
    name = {**attacker.place, "name": "loop", "taskName": "tenants.loop"}
    attacker.done("flyteidl2.trigger.TriggerService/DeployTrigger", {
        "name": name, "spec": {"active": True, "taskVersion": "1", "inputs": {}, "runSpec": {}},
        "automationSpec": {"type": "TYPE_ARTIFACT", "artifact": {"artifactName": "loop"}}})
    first = attacker.run()
    attacker.done(f"{RUNS}/CreateRun", {"runId": first, "taskSpec": spec})
    attacker.reaches(first, "SUCCEEDED")

    def waits() -> bool:
        """Whether the trigger waits. It must not have started more than 4 runs within any minute."""
        runs = attacker.done(f"{RUNS}/ListRuns", {"projectId": {"name": attacker.project, "domain": DOMAIN}, "request": {"limit": 200}})["runs"]
        began = sorted(
            datetime.datetime.fromisoformat(run["action"]["status"]["startTime"]) for run in runs
            if run["action"]["metadata"]["task"]["id"]["name"] == "tenants.loop" and run["action"]["id"]["run"]["name"] != first["name"])
        for one, fifth in zip(began, began[4:]):
            assert fifth - one >= datetime.timedelta(seconds=59), began
        why = json.dumps(attacker.done("flytebinary.insight.v1.TriggerInsightService/ExplainTrigger", {"name": name}))
        return "has started 4 runs within a minute, and may not start more (triggers.maxPerMinute)" in why

    try:
        eventually(waits, what="a trigger that waits")
        victim.unharmed()
    finally:
        attacker.done("flyteidl2.trigger.TriggerService/DeleteTriggers", {"names": [name]})
