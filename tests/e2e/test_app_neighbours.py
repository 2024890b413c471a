"""Apps of one machine that know nothing of each other, and clients that pretend to be somebody."""

from __future__ import annotations

import http.client
import json
import re

import flyte
import httpx
import pytest
from flyte import remote

from conftest import connect
from flows import neighbours
from server import Server, eventually


@pytest.fixture(scope="module", autouse=True)
def connected(server: Server):
    connect(server)
    yield
    for app in remote.App.listall():
        remote.App.delete(app.name)


def served(name: str, replicas: int = 1) -> remote.App:
    try:
        return flyte.serve(neighbours.neighbour(name, replicas))
    except RuntimeError as error:
        pytest.fail(f"{error} {remote.App.get(name).pb2.status.conditions[-1]}")


def knows(app: remote.App, path: str = "", headers: dict[str, str] | None = None) -> dict:
    answer = httpx.get(f"{app.endpoint}/{path}", headers=headers, timeout=60)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_two_apps_serve_on_the_port_that_the_sdk_declares():
    one, two = served("neighbour-one"), served("neighbour-two", replicas=2)
    for app in (one, two):
        assert knows(app)["NAME"] == app.name
        assert knows(app, "itself")["NAME"] == app.name, "its port is its own, for itself too"
    # Two replicas of one app, and a new revision alongside the old one.
    eventually(lambda: len({knows(two)["PID"] for _ in range(10)}) == 2, what="answers of both replicas")
    changed = remote.App.get("neighbour-one").pb2
    for variable in changed.spec.container.env:
        if variable.key == "NAME":
            variable.value = "renamed"
    remote.App.update(changed, "another name")
    eventually(lambda: knows(one)["NAME"] == "renamed", what="an answer of the new revision")
    assert knows(two)["NAME"] == "neighbour-two"


def test_apps_do_not_believe_their_clients():
    app = served("neighbour-one")
    known = knows(app, headers={
        "X_Flyte_Subject": "mallory", "X_FLYTE_EMAIL": "mallory", "X-Flyte_Caller": "mallory", "X_Forwarded_For": "mallory", "X_Forwarded_Proto": "mallory",
        "Remote_User": "mallory", "X-Forwarded-User": "mallory", "X_Original_URL": "mallory", "Proxy": "mallory", "api_key": "mine",
    })
    assert [name for name, value in known.items() if "mallory" in str(value)] == []
    assert known["HTTP_API_KEY"] == "mine"
    assert known["HTTP_X_FLYTE_CALLER"] == "anonymous"


def test_a_redirect_keeps_its_bytes(server: Server):
    served("neighbour-one")
    connection = http.client.HTTPConnection(server.endpoint)
    connection.request("GET", "/apps/flytesnacks/development/neighbour-one/redirect")
    answer = connection.getresponse()
    assert answer.headers["Location"] == "/apps/flytesnacks/development/neighbour-one/search/100%", json.dumps(dict(answer.headers))
    connection.close()


def test_the_logs_of_a_crash_loop_are_kept(capfd: pytest.CaptureFixture):
    """An app that ends at each start shows what each of its attempts has said, also when it is stopped."""
    with pytest.raises(RuntimeError):
        flyte.serve(neighbours.broken)
    remote.App.get("broken").deactivate(wait=True)

    def attempts() -> bool:
        remote.App.get("broken").show_logs(raw=True)  # the stream ends, since the app is stopped
        return len(set(re.findall(r"process \d+ breaks", capfd.readouterr().out))) >= 3

    eventually(attempts, what="the logs of three attempts")
