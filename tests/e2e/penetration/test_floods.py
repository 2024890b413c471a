"""Attacks by amounts: many actions, large messages, many connections and calls, large data."""

from __future__ import annotations

import concurrent.futures
import contextlib
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
from tenants import ACTIONS, CUT, PROJECTS, PROXY, RUNS, Tenant, Victim, put
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


def test_16_connections_and_bodies_of_the_attacker_end(server: Server, admin: Browser, attacker: Tenant, victim: Victim):
    """They come from another address of this machine, since the limits of connections are those of an address."""
    refused = lambda: metric(server, admin, r'flyte_port_refused_total\{.*connection')  # noqa: E731
    before = refused()
    header = f"POST /{RUNS}/ListRuns HTTP/1.1\r\nHost: {server.endpoint}\r\nAuthorization: Bearer {attacker.token}\r\n" \
             "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
    with contextlib.ExitStack() as opened:
        slow = set()
        for _ in range(400):
            client = opened.enter_context(socket.socket())
            client.bind(("127.0.0.2", 0))
            client.connect(("127.0.0.1", server.port))
            with contextlib.suppress(ConnectionError):
                client.sendall(header.encode())
            slow.add(client)
        victim.unharmed()
        answers = []

        def all_ended() -> bool:
            for client in select.select(list(slow), [], [], 0.2)[0]:
                with contextlib.suppress(ConnectionError):
                    if got := client.recv(1 << 16):
                        answers.append(got)
                        continue
                slow.discard(client)
            return not slow

        eventually(all_ended, what="the end of all connections")
    assert refused() - before >= 100
    assert any(b"deadline_exceeded" in answer for answer in answers), answers[:3]


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
