"""What agents do with an installation, through the reference client of the Model Context Protocol."""

from __future__ import annotations

import asyncio
import json

import flyte
import flyte.remote as remote
import httpx
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from conftest import connect
from flows import agents
from server import Server, eventually

pytestmark = pytest.mark.usefixtures("sdk")

PLACE = {"project": "flytesnacks", "domain": "development"}
CHANGES = ["abort_action", "abort_run", "answer_condition", "recover_run", "rerun_run"]


class Agent:
    """Calls tools, each in a session of its own, as agents of several processes would."""

    def __init__(self, url: str, path: str):
        self.address = url + path

    def _in_session(self, do):
        async def session():
            async with streamable_http_client(self.address) as (reads, writes, _), ClientSession(reads, writes) as one:
                await one.initialize()
                return await do(one)

        return asyncio.run(session())

    def tools(self) -> dict:
        found = self._in_session(lambda session: session.list_tools())
        return {tool.name: tool for tool in found.tools}

    def ask(self, tool: str, **arguments: object) -> dict:
        result = self._in_session(lambda session: session.call_tool(tool, arguments))
        assert not result.isError, result.content[0].text
        assert json.loads(result.content[0].text) == result.structuredContent  # for clients that read only text
        return result.structuredContent

    def refused(self, tool: str, **arguments: object) -> str:
        result = self._in_session(lambda session: session.call_tool(tool, arguments))
        assert result.isError, result.structuredContent
        return result.content[0].text


@pytest.fixture(scope="module")
def reader(server: Server) -> Agent:
    return Agent(server.url, "/mcp")


@pytest.fixture(scope="module")
def changer(server: Server) -> Agent:
    return Agent(server.url, "/mcp/changes")


@pytest.fixture(scope="module")
def failed(server: Server) -> dict:
    """A run of three shards, of which the last fails."""
    connect(server)
    handle = flyte.run(agents.pipeline, 3)
    handle.wait(quiet=True)
    return {**PLACE, "run": handle.name}


def test_tools_say_what_they_do(reader: Agent, changer: Agent):
    reading, all_of_them = reader.tools(), changer.tools()
    assert not set(CHANGES) & set(reading)
    assert sorted(set(all_of_them) - set(reading)) == CHANGES
    for name, tool in all_of_them.items():
        assert tool.description and tool.description.endswith("."), name
        assert tool.annotations.readOnlyHint is (name not in CHANGES), name
        for argument, schema in tool.inputSchema["properties"].items():
            assert schema.get("description"), f"{name}: {argument}"


def test_an_agent_finds_out_why_a_run_failed(reader: Agent, failed: dict):
    assert "flytesnacks" in [project["project"] for project in reader.ask("list_projects")["projects"]]
    runs = reader.ask("list_runs", **PLACE, phases=["failed"], task="agents.pipeline")["runs"]
    assert failed["run"] in [run["run"] for run in runs]
    assert failed["run"] in [found["name"] for found in reader.ask("search", query=failed["run"])["found"]]

    run = reader.ask("get_run", **failed)
    assert (run["phase"], run["task"]) == ("failed", "agents.pipeline")
    assert run["actions"] == {"succeeded": 2, "failed": 2}
    assert run["url"].endswith(f"/v2/domain/development/project/flytesnacks/runs/{failed['run']}")

    why = reader.ask("explain_failure", **failed)
    assert (why["title"], why["parent"], why["phase"], why["error"]["kind"]) == ("agents.score", "a0", "failed", "user")
    assert why["inputs"] == {"shard": 2}
    raised = why["exceptions"][0]
    assert (raised["type"], raised["message"]) == ("KeyError", "2")
    assert raised["stack"][-1].endswith("in score: return REGIONS[shard]")

    one = {**failed, "action": why["action"]}
    assert "scoring shard 2" in [line["text"] for line in reader.ask("read_logs", **one)["lines"]]
    log = reader.ask("read_logs", **one, contains="scoring", limit=1)
    assert [line["text"] for line in log["lines"]] == ["scoring shard 2"] and log["complete"]
    code = reader.ask("read_code", **one)
    assert code["path"].endswith("agents.py") and "return REGIONS[shard]" in code["text"]
    assert code["text"].splitlines()[code["function_line"] - code["from"]].startswith(("@env.task", "async def score"))

    actions = reader.ask("list_actions", **failed, parent="a0")["actions"]
    assert [action["phase"] for action in actions].count("failed") == 1 and len(actions) == 3
    succeeded = next(action["action"] for action in actions if action["phase"] == "succeeded")
    assert list(reader.ask("read_data", **failed, action=succeeded)["outputs"].values())[0] in ("emea", "apac")
    assert reader.ask("preview_recovery", **failed)["reused"] == 2
    assert reader.ask("lineage", **failed) == {"edges": []}


def test_an_agent_starts_a_run_again(changer: Agent, failed: dict):
    new = changer.ask("recover_run", **failed)["run"]
    assert changer.ask("wait_for_run", **PLACE, run=new, seconds=120)["phase"] == "failed"
    run = changer.ask("get_run", **PLACE, run=new)
    assert run["related_to"] == failed["run"] and run["actions"]["recovered"] == 2

    name = f"again-{failed['run']}"
    assert changer.ask("rerun_run", **failed, name=name)["run"] == name
    assert changer.ask("rerun_run", **failed, name=name)["run"] == name  # a repeated call starts nothing
    assert [one["name"] for one in changer.ask("search", query=name)["found"]].count(name) == 1
    assert "already_exists" in changer.refused("recover_run", **failed, name=name)
    assert changer.ask("wait_for_run", **PLACE, run=name, seconds=120)["phase"] == "failed"


def test_an_agent_answers_and_aborts(changer: Agent):
    asked = flyte.run(agents.release, "v7")
    stopped = flyte.run(agents.release, "v8")
    eventually(lambda: {asked.name, stopped.name} <= {one["run"] for one in changer.ask("list_paused")["conditions"]}, what="both conditions")
    condition = next(one for one in changer.ask("list_paused", **PLACE)["conditions"] if one["run"] == asked.name)
    assert (condition["prompt"], condition["answer"]) == ("Release v7?", "boolean")
    where = {**PLACE, "run": asked.name, "action": condition["action"]}
    assert "person" in changer.ask("explain_wait", **where)["reason"] or "signal" in changer.ask("explain_wait", **where)["reason"]
    assert "boolean" in changer.refused("answer_condition", **where, value="perhaps")
    changer.ask("answer_condition", **where, value=True)
    assert changer.ask("wait_for_run", **PLACE, run=asked.name, seconds=120)["phase"] == "succeeded"
    assert asked.outputs()[0] == "v7: True"

    changer.ask("abort_run", **PLACE, run=stopped.name, reason="not needed")
    assert changer.ask("wait_for_run", **PLACE, run=stopped.name, seconds=120)["phase"] == "aborted"
    assert changer.ask("get_run", **PLACE, run=stopped.name)["abort_reason"] == "not needed"
    assert remote.Run.get(stopped.name).phase == "aborted"


def test_what_an_agent_asks_wrongly_is_explained(reader: Agent, failed: dict):
    assert "not_found" in reader.refused("get_run", **PLACE, run="missing")
    assert "there is no phase \"broken\"; the phases are queued" in reader.refused("list_runs", **PLACE, phases=["broken"])
    assert "project" in reader.refused("list_runs", project="", domain="development")
    assert "has not failed" in reader.refused("explain_failure", **failed, action=next(
        action["action"] for action in reader.ask("list_actions", **failed, phases=["succeeded"])["actions"]))


def test_pages_of_other_sites_cannot_use_it(server: Server):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {"Accept": "application/json, text/event-stream", "Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    assert httpx.post(f"{server.url}/mcp", json=body, headers=headers).status_code == 403
    large = httpx.post(f"{server.url}/mcp", content=b"[" + b" " * (1 << 20) + b"]", headers={**headers, "Origin": server.url, "Sec-Fetch-Site": "same-origin", "Content-Type": "application/json"})
    assert large.status_code == 413
