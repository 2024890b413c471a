"""Notifications: what people and other systems are told when runs end, by rules of the SDK."""

import dataclasses
import http.server
import json
import threading

import flyte
import flyte.errors
import flyte.notify as notify
import flyte.remote as remote
import pytest
from flyte.models import ActionPhase

from flows import distributed, failing
from server import Server, eventually

PLACE = {"project": "flytesnacks", "domain": "development"}
TWO_LINES = 'first line with a "quote"\nsecond line'


@dataclasses.dataclass
class Sink:
    """A local HTTP server, the requests that it received, and the status that it answers."""

    url: str = ""
    status: int = 204
    requests: list[tuple[dict[str, str], bytes]] = dataclasses.field(default_factory=list)

    def taken(self) -> list[dict]:
        return [json.loads(body) for _, body in self.requests]


@pytest.fixture
def sink():
    found = Sink()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.requests.append((dict(self.headers.items()), body))
            self.send_response(found.status)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    found.url = f"http://127.0.0.1:{server.server_address[1]}/hook"
    yield found
    server.shutdown()


def deliveries(server: Server, run: str) -> list[dict]:
    status, answer = server.call("flytebinary.insight.v1.NotificationService/ListDeliveries", {"runId": PLACE | {"name": run}})
    assert status == 200, answer
    return answer.get("deliveries", [])


def settled(server: Server, run: str, count: int, state: str) -> list[dict]:
    def look():
        found = deliveries(server, run)
        return found if len(found) == count and all(one["state"] == f"DELIVERY_STATE_{state}" for one in found) else None

    return eventually(look, what=f"{count} notifications that are {state}")


@pytest.mark.usefixtures("sdk")
def test_a_failed_run_is_reported_once_to_all(server: Server, sink: Sink):
    told = (
        notify.Webhook(on_phase=ActionPhase.FAILED, url=sink.url),
        notify.Slack(on_phase=(ActionPhase.FAILED, ActionPhase.ABORTED), webhook_url=sink.url, message="{{.Run.Name}}: {{.Error}}"),
        notify.Teams(on_phase=ActionPhase.FAILED, webhook_url=sink.url, title="Run {{.Phase}}"),
        notify.Webhook(on_phase=ActionPhase.SUCCEEDED, url=sink.url),
    )
    handle = flyte.with_runcontext(notifications=told).run(failing.boom, TWO_LINES)
    handle.wait(quiet=True)
    found = settled(server, handle.name, 3, "DELIVERED")
    plain, slack, teams = sorted(sink.taken(), key=lambda body: ("text" in body, "title" in body))
    assert plain["run"] == handle.name and plain["phase"] == "FAILED" and plain["project"] == PLACE["project"]
    assert TWO_LINES in plain["error"]
    assert slack["text"].startswith(f"{handle.name}: ") and TWO_LINES in slack["text"]
    assert teams["title"] == "Run FAILED"
    assert {headers["Idempotency-Key"] for headers, _ in sink.requests} == {one["id"] for one in found}

    handle = flyte.with_runcontext(notifications=told[0]).run(distributed.notifies)
    handle.wait(quiet=True)
    handle = flyte.with_runcontext(notifications=told[3]).run(distributed.notifies)
    handle.wait(quiet=True)
    settled(server, handle.name, 1, "DELIVERED")
    assert [body["phase"] for body in sink.taken()[3:]] == ["SUCCEEDED"], "a success is not a failure"


@pytest.mark.usefixtures("sdk")
def test_what_is_refused_is_given_up_and_can_be_sent_again(server: Server, sink: Sink):
    sink.status = 403
    handle = flyte.with_runcontext(notifications=notify.Webhook(on_phase=ActionPhase.SUCCEEDED, url=sink.url)).run(distributed.notifies)
    handle.wait(quiet=True)
    [dead] = settled(server, handle.name, 1, "DEAD")
    assert dead["lastError"] == "it returned 403 Forbidden"
    sink.status = 200
    status, answer = server.call(
        "flytebinary.insight.v1.NotificationService/RetryDelivery", {"runId": PLACE | {"name": handle.name}, "deliveryId": dead["id"]}
    )
    assert status == 200, answer
    settled(server, handle.name, 1, "DELIVERED")


@pytest.mark.usefixtures("sdk")
def test_rules_that_cannot_be_delivered():
    wrong = notify.Webhook(on_phase=ActionPhase.FAILED, url="https://example.com", body={"a": "{{.Nothing}}"})
    with pytest.raises(Exception, match="unknown template variable .Nothing"):
        flyte.with_runcontext(notifications=wrong).run(distributed.notifies)


@pytest.mark.usefixtures("sdk")
def test_unknown_names_are_noted_and_listed(server: Server):
    handle = flyte.with_runcontext(notifications=notify.NamedRule("oncall")).run(distributed.notifies)
    handle.wait(quiet=True)
    events = remote.ActionDetails.get(run_name=handle.name, name="a0").pb2.attempts[0].cluster_events
    [note] = [event.message for event in events if event.reason == "Notifications"]
    assert note.startswith('notification_rule_name: there is no rule "oncall"'), events
    [dead] = settled(server, handle.name, 1, "DEAD")
    assert dead["rule"] == "oncall"


def test_a_sink_that_is_down_over_a_restart(fragile: Server, sink: Sink):
    sink.status = 503
    handle = flyte.with_runcontext(notifications=notify.Webhook(on_phase=ActionPhase.SUCCEEDED, url=sink.url)).run(distributed.notifies)
    handle.wait(quiet=True)
    eventually(lambda: sink.requests, what="the first try")
    fragile.kill()
    sink.status = 200
    fragile.start()
    [one] = settled(fragile, handle.name, 1, "DELIVERED")
    assert {headers["Idempotency-Key"] for headers, _ in sink.requests} == {one["id"]}, "all tries have the same id"


def test_rules_and_a_test(tmp_path, home, sink: Sink):
    """The configuration's rules say where they send and how that went; a test goes the same way."""
    deliveries_ = [{"name": "chat", "type": "slack", "url": f"{sink.url}?secret"}, {"name": "forbidden", "type": "webhook", "url": "http://169.254.169.254/"}]
    rules = [{"name": "failures", "phases": ["failed"], "deliveries": ["chat", "forbidden"], "everywhere": True}]
    server = Server(tmp_path, "--set", f"notifications.deliveries={json.dumps(deliveries_)}", "--set", f"notifications.rules={json.dumps(rules)}")
    server.start()
    try:
        def ask(method: str, body: dict) -> tuple[int, dict]:
            return server.call(f"flytebinary.insight.v1.NotificationService/{method}", {"projectId": {"name": "flytesnacks", "domain": "development"}, **body})

        status, answer = ask("ListRules", {})
        assert status == 200, answer
        [rule] = answer["rules"]
        assert (rule["name"], rule["phases"], rule["everywhere"]) == ("failures", ["ACTION_PHASE_FAILED"], True)
        assert [one["deliveryConfigName"] for one in rule["receivers"]] == ["chat", "forbidden"]
        assert "secret" not in json.dumps(answer)
        status, answer = ask("SendTest", {"rule": "failures"})
        assert status == 200, answer
        chat, forbidden = answer["results"]
        assert "error" not in chat
        assert "169.254.169.254" in forbidden["error"]
        [body] = sink.taken()
        assert "This is a test of the notification rule failures" in body["text"]
        sink.status = 410
        assert "410" in ask("SendTest", {"rule": "failures"})[1]["results"][0]["error"]
        assert ask("SendTest", {"rule": "nothing"})[1]["code"] == "not_found"
        assert ask("SendTest", {"rule": ""})[1]["code"] == "invalid_argument"
    finally:
        server.stop()
