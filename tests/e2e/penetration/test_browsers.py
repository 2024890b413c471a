"""Attacks by web pages, through the browser of someone who has signed in."""

from __future__ import annotations

import json
import urllib.error
import urllib.request

from server import Server
from tenants import RUNS, Victim


def test_02_a_page_of_the_attacker_cannot_use_the_victims_browser(server: Server, victim: Victim):
    """The browser sends the victim's session with each request, and the page chooses the rest, but for these headers."""
    browser = victim.person()

    def sent(run: dict, **headers: str) -> int:
        body = json.dumps({"runId": run, "taskSpec": victim.spec("true")}).encode()
        request = urllib.request.Request(f"{server.url}/{RUNS}/CreateRun", data=body, headers={"Content-Type": "application/json", **headers})
        try:
            with browser.opener.open(request, timeout=60) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    evil = "http://evil.example"
    for status, headers in (
        (421, {"Host": f"evil.example:{server.port}", "Origin": f"{evil}:{server.port}", "Sec-Fetch-Site": "same-origin"}),
        (403, {"Origin": evil, "Sec-Fetch-Site": "cross-site"}), (403, {"Sec-Fetch-Site": "cross-site"}), (403, {"Origin": "null"}),
        (403, {"Origin": f"http://localhost:{server.port + 1}", "Sec-Fetch-Site": "same-site"}),
    ):
        run = victim.run()
        assert sent(run, **headers) == status, headers
        victim.refused(f"{RUNS}/GetRunDetails", {"runId": run}, "not_found")
    assert sent(victim.run(), Origin=server.url, **{"Sec-Fetch-Site": "same-origin"}) == 200, "a page of the server may"


def test_15_no_page_of_another_local_server_may_call(server: Server, victim: Victim):
    """Any local server was allowed by default, in whose pages the victim's browser sends its session."""
    browser = victim.person()
    origin = "http://localhost:3000"
    for method, headers in (("OPTIONS", {"Access-Control-Request-Method": "POST"}), ("POST", {"Content-Type": "application/json"})):
        request = urllib.request.Request(f"{server.url}/{RUNS}/ListRuns", data=b"{}" if method == "POST" else None, method=method, headers={"Origin": origin, **headers})
        try:
            with browser.opener.open(request, timeout=60) as answer:
                status, allowed = answer.status, answer.headers.get("Access-Control-Allow-Origin")
        except urllib.error.HTTPError as error:
            status, allowed = error.code, error.headers.get("Access-Control-Allow-Origin")
        assert allowed is None and (method == "OPTIONS" or status == 403), (method, status, allowed)
