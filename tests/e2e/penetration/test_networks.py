"""Attacks over the network: webhooks that call others, and calls to apps in the name of others."""

from __future__ import annotations

import http.server
import json
import threading
import urllib.error
import urllib.request

from server import Server, eventually
from tenants import ACTIONS, DOMAIN, Tenant, Victim


class Listener:
    """A service of the victim on this machine, which counts the calls that it gets."""

    def __init__(self):
        self.calls = 0
        listener = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                listener.calls += 1
                self.send_error(500, "internal words of the victim")

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.http.server_port
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


def test_14_webhooks_reach_no_private_network(attacker: Tenant):
    """By an address, by an address inside of an IPv6 address of a tunnel or a translator, or by a name."""
    service = Listener()
    hosts = ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "169.254.169.254",
             "0.0.0.0", "[fd00::1]", "[fe80::1]", "[2002:7f00:1::1]", "[2002:a00:1::1]", "[64:ff9b::7f00:1]", "[64:ff9b::a00:1]", "[64:ff9b:1::a00:1]",
             "[2001::1]"]
    try:
        for number, host in enumerate(hosts):
            body = attacker.condition(attacker.root, f"calls{number}")
            body["action"]["condition"]["webhook"] = {"url": f"http://{host}:{service.port}/"}
            attacker.done(f"{ACTIONS}/Enqueue", body)
        for number, host in enumerate(hosts):
            def told(number: int = number) -> str:
                return json.dumps(attacker.details(attacker.root, f"calls{number}")["attempts"][-1].get("clusterEvents", ""))
            message = eventually(lambda: text if "calling the webhook" in (text := told()) else None, what=f"the end of a call of {host}")  # noqa: B023
            assert "must not be called; see runs.webhooks.allow" in message, message
            attacker.done(f"{ACTIONS}/Abort", {"actionId": {"run": attacker.root, "name": f"calls{number}"}})
        assert service.calls == 0
    finally:
        service.http.shutdown()


SHOWS = """
import http.server, json
class Shows(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({name.replace("-", "_").upper(): value for name, value in self.headers.items()}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
http.server.ThreadingHTTPServer(("", 8080), Shows).serve_forever()
"""


def test_second_03_no_one_calls_an_app_in_the_name_of_others(server: Server, attacker: Tenant, victim: Victim):
    """The app of the victim takes hyphens and underscores for the same. The attacker may not call it, and the victim's own program cannot be
    another one there."""
    container = {"image": "python", "command": ["python", "-u", "-c", SHOWS], "ports": [{"containerPort": 8080}],
                 "resources": {"requests": [{"name": "CPU", "value": "50m"}, {"name": "MEMORY", "value": "100Mi"}]}}
    for tenant in (attacker, victim):
        tenant.done("flyteidl2.app.AppService/Create", {"app": {"metadata": {"id": {**tenant.place, "name": "shows"}}, "spec": {
            "container": container, "desiredState": "DESIRED_STATE_ACTIVE", "autoscaling": {"replicas": {"min": 1, "max": 1}},
            "creator": {"user": {"id": {"subject": victim.key}}}}}})
    forged = {name: victim.key for name in ("X_Flyte_Subject", "X-Flyte_Subject", "X_FLYTE_EMAIL", "X_Flyte_Caller", "Remote_User", "X-Forwarded-User")}

    def get(tenant: Tenant, owner: Tenant) -> tuple[int, str]:
        request = urllib.request.Request(
            f"{server.url}/apps/{owner.project}/{DOMAIN}/shows/", headers={"Authorization": f"Bearer {tenant.token}", **forged})
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    for tenant in (attacker, victim):
        eventually(lambda tenant=tenant: get(tenant, tenant)[0] == 200, what=f"the app of {tenant.project}")
        known = json.loads(get(tenant, tenant)[1])
        assert known["X_FLYTE_SUBJECT"] == tenant.key, known
        assert tenant is victim or victim.key not in json.dumps(known), known
    status, text = get(attacker, victim)
    assert status == 404 and victim.key not in text, text
    assert victim.key not in json.dumps(attacker.done("flyteidl2.app.AppService/Get", {"appId": {**attacker.place, "name": "shows"}}))
    attacker.refused("flyteidl2.app.AppService/Get", {"appId": {**victim.place, "name": "shows"}}, "not_found")
    for tenant in (attacker, victim):
        tenant.done("flyteidl2.app.AppService/Delete", {"appId": {**tenant.place, "name": "shows"}})
