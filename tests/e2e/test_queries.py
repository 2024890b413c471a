"""Runs are found by the language of docs/queries.md, and a view is kept (docs/queries.md)."""

import json
import shlex
import subprocess
import uuid
from pathlib import Path

import flyte
import pytest

from flows import basic, failing
from server import Server

pytestmark = pytest.mark.usefixtures("sdk")

PLACE = {"projectId": {"name": "flytesnacks", "domain": "development"}}


def ask(server: Server, method: str, body: dict) -> dict:
    status, answer = server.call(f"flytebinary.insight.v1.{method}", body)
    assert status == 200, answer
    return answer


def names(server: Server, query: str, **more) -> list[str]:
    return [run["action"]["id"]["run"]["name"] for run in ask(server, "RunQueryService/QueryRuns", {**PLACE, "query": query, **more}).get("runs", [])]


def test_queries(server: Server) -> None:
    team = f"q{uuid.uuid4().hex[:8]}"
    found = {}
    for n, task, inputs in [(0, basic.hello, ("ada",)), (1, basic.hello, ("bob",)), (2, failing.boom, ("on purpose",))]:
        run = flyte.with_runcontext(labels={"team": team, "n": str(n)}, name=f"{team}-{n}").run(task, *inputs)
        run.wait(quiet=True)
        found[n] = run.name
    mine = f"label:team={team}"
    assert names(server, mine) == [found[2], found[1], found[0]]
    assert names(server, mine, order="RUN_ORDER_OLDEST") == [found[0], found[1], found[2]]
    assert names(server, f"{mine} -label:n=1") == [found[2], found[0]]
    assert names(server, f"{mine} phase:failed") == [found[2]]
    assert names(server, f"{mine} (label:n=0 or phase:failed,timed-out)") == [found[2], found[0]]
    assert names(server, f"name={team}-1 or name:{team}-0") == [found[1], found[0]]
    assert names(server, f'{team} error:"on purpose"') == [found[2]], "the text of the error"
    assert names(server, f"{mine} name:ada") == []
    assert names(server, f"{mine} input:name=ada") == [found[0]], "an input by its name"
    assert names(server, f"{mine} -input:name=ada task:hello") == [found[1]]
    assert names(server, f"{mine} owner:me") == [found[2], found[1], found[0]]
    assert names(server, f"{mine} duration>1d") == []
    assert names(server, f"{mine} since:1h duration<1d is:ended") == [found[2], found[1], found[0]]

    first = ask(server, "RunQueryService/QueryRuns", {**PLACE, "query": mine, "limit": 2})
    assert len(first["runs"]) == 2
    assert names(server, mine, limit=2, token=first["token"]) == [found[0]]
    status, refused = server.call("flytebinary.insight.v1.RunQueryService/QueryRuns", {**PLACE, "query": "other", "token": first["token"]})
    assert (status, refused["code"]) == (400, "invalid_argument"), "the token of another query"

    assert ask(server, "RunQueryService/CountRuns", {**PLACE, "query": mine}) == {"count": 3}
    assert ask(server, "RunQueryService/CountRuns", {**PLACE, "query": f"{mine} input:name=ada"}) == {"count": 1}
    assert f"team={team}" in ask(server, "RunQueryService/SuggestValues", {**PLACE, "key": "label", "part": team})["values"]
    assert ask(server, "RunQueryService/QueryRuns", {**PLACE, "query": mine, "tracked": True}) == {}


@pytest.mark.parametrize(("method", "body", "words"), [
    ("QueryRuns", {**PLACE, "query": "a phse:failed"}, 'query: at 3, "phse:failed": There is no key "phse".'),
    ("QueryRuns", {**PLACE, "query": "a phse:failed"}, 'Did you mean "phase"?'),
    ("CountRuns", {**PLACE, "query": "(a"}, 'query: at 1, "(": The ) that closes this is missing.'),
    ("QueryRuns", {"projectId": {"name": "flytesnacks"}}, "project_id.domain"),
    ("QueryRuns", {**PLACE, "order": 9}, "order"),
    ("QueryRuns", {**PLACE, "limit": 201}, "limit"),
    ("SuggestValues", {**PLACE, "key": "nothing"}, "key"),
])
def test_what_is_wrong(server: Server, method: str, body: dict, words: str) -> None:
    status, answer = server.call(f"flytebinary.insight.v1.RunQueryService/{method}", body)
    assert (status, answer["code"]) == (400, "invalid_argument")
    assert words in answer["message"], answer


def test_views(server: Server) -> None:
    name = f"view {uuid.uuid4().hex[:8]}"

    def views() -> list[dict]:
        found = ask(server, "ViewService/ListViews", PLACE).get("views", [])
        return [{key: view.get(key) for key in ("query", "pinned", "shared", "order")} for view in found if view["name"] == name]

    ask(server, "ViewService/SaveView", {"view": {"name": name, "query": "phase:failed", "pinned": True}})
    ask(server, "ViewService/ShareView", {**PLACE, "view": {"name": name, "query": "owner:me", "order": "RUN_ORDER_OLDEST"}})
    own = {"query": "phase:failed", "pinned": True, "shared": None, "order": None}
    shared = {"query": "owner:me", "pinned": None, "shared": True, "order": "RUN_ORDER_OLDEST"}
    assert views() == [own, shared]
    ask(server, "ViewService/SaveView", {"view": {"name": name, "query": "is:active"}})
    assert views() == [{"query": "is:active", "pinned": None, "shared": None, "order": None}, shared]
    ask(server, "ViewService/DeleteSharedView", {**PLACE, "name": name})
    ask(server, "ViewService/DeleteView", {"name": name})
    ask(server, "ViewService/DeleteView", {"name": name})
    assert views() == []

    for method, body, code, words in [
        ("SaveView", {"view": {"name": " ", "query": ""}}, "invalid_argument", "view.name"),
        ("SaveView", {"view": {"name": "x", "query": "phase:none"}}, "invalid_argument", "view.query"),
        ("ShareView", {"projectId": {"name": "nowhere", "domain": "development"}, "view": {"name": "x"}}, "not_found", "nowhere"),
        ("DeleteSharedView", {"projectId": {}, "name": "x"}, "invalid_argument", "project_id"),
    ]:
        _, answer = server.call(f"flytebinary.insight.v1.ViewService/{method}", body)
        assert answer["code"] == code, answer
        assert words in answer["message"], answer


def test_stars(server: Server) -> None:
    """They are kept on the server, with the run as it is now."""
    name = f"starred-{uuid.uuid4().hex[:8]}"
    task, run = ({"target": {"project": "flytesnacks", "domain": "development", kind: name}} for kind in ("task", "run"))

    def stars() -> list[dict]:
        found = ask(server, "StarService/ListStars", {}).get("stars", [])
        return [star["target"] for star in found if name in (star["target"].get("task"), star["target"].get("run"))]

    for one in (task, run, task):
        ask(server, "StarService/AddStar", one)
    assert sorted(star.get("task", "") for star in stars()) == ["", name]
    for one in (run, task, task):
        ask(server, "StarService/RemoveStar", one)
    assert stars() == []
    for body, words in [({}, "target"), ({"target": {"project": "p", "run": "r"}}, "domain"), ({"target": {"project": "p", "domain": "d"}}, "target")]:
        status, answer = server.call("flytebinary.insight.v1.StarService/AddStar", body)
        assert (status, answer["code"]) == (400, "invalid_argument")
        assert words in answer["message"], answer


def test_the_lines_that_are_copied(server: Server, tmp_path: Path) -> None:
    """The lines are those of console/src/entities/run/query/command.ts, whose test has their form."""
    team = f"q{uuid.uuid4().hex[:8]}"
    run = flyte.with_runcontext(labels={"team": team}).run(basic.hello, "you")
    run.wait(quiet=True)
    body = json.dumps({"projectId": PLACE["projectId"], "query": f"label:team={team} or name:it's"}, separators=(",", ":"))
    line = f"curl -sS -X POST {server.url}/flytebinary.insight.v1.RunQueryService/QueryRuns -H 'Content-Type: application/json' -d {shlex.quote(body)}"
    answer = subprocess.run(["sh", "-c", line], check=True, capture_output=True, text=True, timeout=60).stdout
    assert [found["action"]["id"]["run"]["name"] for found in json.loads(answer)["runs"]] == [run.name]
