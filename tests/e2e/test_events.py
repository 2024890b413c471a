"""Published events: every change of runs and actions reaches a sink, in order for each run, also after an outage of both sides."""

from __future__ import annotations

import dataclasses
import http.server
import json
import pathlib
import secrets
import threading

import flyte
import flyte.remote as remote
import pytest

from conftest import command_line, connect
from flows import basic, failing, secretive
from server import Server, eventually, free_port

VALUE, INPUT = f"value-{secrets.token_hex(12)}", f"input-{secrets.token_hex(12)}"


@dataclasses.dataclass
class Sink:
    """A local HTTP server that records events, or answers 503 while `refuses` is set."""

    port: int = dataclasses.field(default_factory=free_port)
    refuses: bool = False
    tries: int = 0
    taken: list[dict] = dataclasses.field(default_factory=list)
    headers: list[dict[str, str]] = dataclasses.field(default_factory=list)

    def start(self) -> http.server.ThreadingHTTPServer:
        sink = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                sink.tries += 1
                if not sink.refuses:
                    sink.taken.append(json.loads(body))
                    sink.headers.append(dict(self.headers.items()))
                self.send_response(503 if sink.refuses else 204)
                self.end_headers()

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    def of(self, run: str) -> list[dict]:
        """The events of a run, each the first time that it came."""
        found: dict[str, dict] = {}
        for event in list(self.taken):
            if event["data"]["run"] == run:
                found.setdefault(event["id"], event)
        return list(found.values())


@pytest.fixture(scope="module")
def sink():
    found = Sink()
    server = found.start()
    yield found
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory, sink: Sink):
    """A server of its own, since the sinks are configured."""
    sinks = [{"name": "hook", "type": "http", "url": f"http://127.0.0.1:{sink.port}/events", "headers": {"Authorization": "Bearer hush"}}]
    instance = Server(
        tmp_path_factory.mktemp("events"), "--set", f"eventStream.sinks={json.dumps(sinks)}",
        "--set", "eventStream.poll=50ms", "--set", "eventStream.backoff.first=100ms", "--set", "eventStream.backoff.max=200ms",
    )
    instance.start()
    connect(instance)
    yield instance
    instance.stop()


def ended(sink: Sink, run: str, phase: str) -> list[dict]:
    """The events of a run, when its end has arrived. Nothing may be missing, and the order is that of the log."""

    def look():
        found = sink.of(run)
        return found if any(one["type"] == "org.flyte.run.phase" and one["data"]["phase"] == phase for one in found) else None

    found = eventually(look, what=f"the end of {run}")
    assert [one["data"]["sequence"] for one in found] == list(range(1, len(found) + 1))
    return found


def phases(found: list[dict], action: str) -> list[str]:
    """The phases of an action, each once."""
    names = [one["data"]["phase"] for one in found if one["data"]["action"] == action]
    return [name for n, name in enumerate(names) if n == 0 or names[n - 1] != name]


def waiting(server: Server) -> dict:
    status, answer = server.call("flytebinary.insight.v1.SystemService/GetSystem", {})
    assert status == 200, answer
    [found] = [one for one in answer["components"] if one["name"] == "sink: hook"]
    return found


def test_every_change_of_a_run_and_its_actions(own: Server, sink: Sink):
    connect(own)
    handle = flyte.run(basic.gathered, 3)
    handle.wait(quiet=True)
    found = ended(sink, handle.name, "SUCCEEDED")
    actions = {action.name for action in remote.Action.listall(for_run_name=handle.name)}
    assert {one["data"]["action"] for one in found} == actions and len(actions) == 4
    for action in actions:
        seen = phases(found, action)
        assert seen[0] == "QUEUED" and seen[-1] == "SUCCEEDED" and "RUNNING" in seen, seen
    assert all(one["data"]["parent"] == "a0" for one in found if one["data"]["action"] != "a0")
    for one, headers in zip(sink.taken, sink.headers, strict=True):
        assert one["specversion"] == "1.0" and one["source"] == "/flyte-binary"
        assert one["subject"] == f"{one['data']['run']}/{one['data']['action']}"
        assert headers["Content-Type"] == "application/cloudevents+json" and headers["Idempotency-Key"] == one["id"]
        assert headers["Authorization"] == "Bearer hush"


def test_neither_inputs_nor_secrets_are_published(own: Server, sink: Sink, warm_command, tmp_path: pathlib.Path):
    cli = command_line(own, tmp_path, warm=warm_command)
    place = ["-p", "flytesnacks", "-d", "development"]
    cli("create", "secret", "my-key", "--value", VALUE, *place)
    cli("create", "secret", "f1", "--value", VALUE, *place)
    connect(own)
    handle = flyte.run(secretive.read)
    handle.wait(quiet=True)
    ended(sink, handle.name, "SUCCEEDED")
    greeted = flyte.run(basic.hello, INPUT)
    greeted.wait(quiet=True)
    ended(sink, greeted.name, "SUCCEEDED")
    assert VALUE in str(handle.outputs()) and INPUT in str(greeted.outputs()), "the values are used"
    text = json.dumps(sink.taken)
    assert VALUE not in text and INPUT not in text
    log = own.log.read_text(errors="replace") + "".join(text.decode(errors="replace") for path, text in own.files() if path.suffix == ".log")
    assert "Bearer hush" not in log


def test_an_outage_of_the_sink_and_of_the_server(own: Server, sink: Sink):
    connect(own)
    sink.refuses, sink.tries = True, 0
    before = flyte.run(failing.boom, "it broke")
    before.wait(quiet=True)
    eventually(lambda: sink.tries > 0, what="a try")
    assert not sink.of(before.name)
    assert "wait" in waiting(own)["message"]
    own.kill()
    own.start()
    connect(own)
    between = flyte.run(basic.hello, "you")
    between.wait(quiet=True)
    assert not sink.of(before.name) and not sink.of(between.name)
    sink.refuses = False
    last = ended(sink, before.name, "FAILED")[-1]["data"]
    assert "it broke" in last["error"] and last["attempt"] == 1
    ended(sink, between.name, "SUCCEEDED")
    eventually(lambda: waiting(own)["message"] == "nothing waits", what="an empty list")
