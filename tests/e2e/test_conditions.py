"""Conditions: people and programs send the signals that a task waits for."""

import http.server
import json
import threading
import urllib.request

import flyte
import flyte.remote as remote
import pytest

from flows import timing
from server import Server, eventually

pytestmark = pytest.mark.usefixtures("sdk")


@pytest.fixture
def receiver():
    """A local HTTP server, and the requests that it received."""
    bodies: list[dict] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/hook", bodies
    server.shutdown()


def test_webhook_calls_and_its_callback_answers(receiver):
    """Story R19: timeouts, backoff, queues, overwriting of the cache, recovery and webhooks were accepted and
    ignored."""
    url, bodies = receiver
    handle = flyte.run(timing.asks_with_a_webhook, url)
    eventually(lambda: bodies, what="the webhook's call")
    callback = bodies[0]["answer_at"]
    assert bodies[0]["nested"]["list"] == [f"see {callback}"]

    condition = remote.Condition.get("approve", run_name=handle.name)
    details = remote.ActionDetails.get(run_name=handle.name, name=condition.pb2.id.name).pb2
    assert details.status.phase == 9
    assert (details.condition.prompt, details.condition.description) == ("# May I?", "a test asks")
    with urllib.request.urlopen(callback) as page:  # looking changes nothing
        assert page.status == 200
    assert remote.ActionDetails.get(run_name=handle.name, name=condition.pb2.id.name).pb2.status.phase == 9

    request = urllib.request.Request(callback, data=b'{"value": true}', headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        assert answer.status == 200
    handle.wait(quiet=True)
    assert handle.outputs()[0] == "answered True"
    events = remote.ActionDetails.get(run_name=handle.name, name=condition.pb2.id.name).pb2.attempts[0].cluster_events
    assert [event.reason for event in events] == ["WebhookDelivered"]


def test_timeout_of_a_condition():
    handle = flyte.run(timing.asks_in_vain)
    handle.wait(quiet=True)
    assert handle.outputs()[0].startswith("nobody: ")
    condition = remote.Condition.get("silence", run_name=handle.name)
    details = remote.ActionDetails.get(run_name=handle.name, name=condition.pb2.id.name).pb2
    assert details.status.phase == 8
    assert details.error_info.code == "ConditionTimedOut"
    assert "timeout of 2s" in details.error_info.message
    assert details.status.duration_ms >= 2000


def test_signals_of_every_type():
    handle = flyte.run(timing.asks_for_every_type)
    for name, value in (("a_bool", True), ("a_int", -7), ("a_float", 2.5), ("a_str", "grüße")):
        condition = eventually(lambda: remote.Condition.get(name, run_name=handle.name), what=name)  # noqa: B023
        condition.signal(value)
    handle.wait(quiet=True)
    assert handle.outputs()[0] == ["bool True", "int -7", "float 2.5", "str grüße"]


def test_an_answer_with_a_comment(server: Server):
    """The task gets the value, and people see who said what; clients of the contract see no difference."""
    handle = flyte.run(timing.asks_a_person)
    condition = eventually(lambda: remote.Condition.get("approve", run_name=handle.name), what="the condition")
    run = {"project": "flytesnacks", "domain": "development", "name": handle.name}
    action = {"run": run, "name": condition.pb2.id.name}

    def ask(method: str, body: dict) -> tuple[int, dict]:
        return server.call(f"flytebinary.insight.v1.ConditionService/{method}", body)

    waiting = ask("ListConditions", {"runId": run})[1]["conditions"]
    assert [(one["name"], one["phase"], "answer" in one) for one in waiting] == [("approve", "ACTION_PHASE_PAUSED", False)]
    for wrong, field in [({"comment": "x" * 2001}, "comment"), ({"comment": "a\u202eb"}, "comment"), ({"payload": {"stringValue": "yes"}}, "payload")]:
        status, refused = ask("AnswerCondition", {"actionId": action, "payload": {"boolValue": True}, **wrong})
        assert (status, refused["code"]) == (400, "invalid_argument")
        assert field in refused["message"]
    answer = {"actionId": action, "payload": {"boolValue": True}, "comment": "Seen by two of us.\n<b>Go</b>"}
    assert ask("AnswerCondition", answer) == (200, {})
    assert ask("AnswerCondition", answer) == (200, {}), "a repeated call"
    assert ask("AnswerCondition", {**answer, "comment": "other"})[1]["code"] == "failed_precondition"
    handle.wait(quiet=True)
    assert handle.outputs()[0] == "answered True"
    details = remote.ActionDetails.get(run_name=handle.name, name=condition.pb2.id.name).pb2
    assert details.signal_info.output.scalar.primitive.boolean is True
    said = ask("ListConditions", {"runId": run, "action": action["name"]})[1]["conditions"][0]["answer"]
    assert said["comment"] == answer["comment"]
    assert said["answeredAt"]
    assert ask("ListConditions", {"runId": {**run, "name": "nothing"}})[1]["code"] == "not_found"
