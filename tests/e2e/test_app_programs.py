"""Programs that people deploy as apps: MCP, webhook, Streamlit, apps that call each other, apps with secrets and outputs of runs."""

from __future__ import annotations

import asyncio
import threading

import flyte
import httpx
import pytest
from flyte import remote
from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client

from conftest import connect
from flows import app_programs
from server import Server, eventually


@pytest.fixture(scope="module", autouse=True)
def connected(server: Server):
    connect(server)
    yield
    for app in remote.App.listall():
        remote.App.delete(app.name)


def served(env: flyte.app.AppEnvironment) -> remote.App:
    try:
        return flyte.serve(env)
    except RuntimeError as error:
        pytest.fail(f"{error} {remote.App.get(env.name).pb2.status.conditions[-1]}")


def test_mcp():
    app = served(app_programs.mcp)

    async def call() -> str:
        async with streamablehttp_client(f"{app.endpoint}/mcp/mcp") as (reads, writes, _), ClientSession(reads, writes) as session:
            await session.initialize()
            assert [tool.name for tool in (await session.list_tools()).tools] == ["double"]
            return (await session.call_tool("double", {"n": 21})).content[0].text

    assert asyncio.run(call()) == "42"


def test_webhook():
    """The SDK's webhook app calls the server with the credentials of its own caller, always over TLS, which a demo has not."""
    app = served(app_programs.webhook)
    assert httpx.get(f"{app.endpoint}/health", timeout=60).status_code == 200
    refused = httpx.post(f"{app.endpoint}/run-task/development/flytesnacks/app_tasks.train", json={"words": "anybody"}, timeout=60)
    assert refused.status_code == 401, refused.text


def test_apps_and_tasks_call_each_other():
    served(app_programs.back_end)
    front = served(app_programs.front_end)
    assert httpx.get(f"{front.endpoint}/sum", params={"n": 5}, timeout=60).json() == {"sum": 7}
    run = flyte.run(app_programs.ask, 40)
    run.wait(quiet=True)
    assert run.outputs()[0] == 42
    # An app starts a run of a deployed task.
    flyte.deploy(app_programs.tasks)
    started = remote.Run.get(httpx.post(f"{front.endpoint}/start", params={"words": "by an app"}, timeout=60).json()["run"])
    started.wait(quiet=True)
    assert started.phase == "succeeded"


def test_secrets_files_and_outputs_of_runs(server: Server):
    remote.Secret.create("app-key", "letters")
    remote.Secret.create("app-file", bytes([0, 255, 10]))
    made = flyte.run(app_programs.train, "weights")
    made.wait(quiet=True)
    app = served(app_programs.model_server)
    assert httpx.get(f"{app.endpoint}/model", timeout=60).json() == {
        "model": "weights", "secret": "letters", "file": "00ff0a", "greeting": "good day",
    }
    # The run knows the app that uses its output; in the lineage, too.
    run = {"project": "flytesnacks", "domain": "development", "name": made.name}
    status, used = server.call("flytebinary.insight.v1.AppInsightService/ListAppsOfRun", {"runId": run})
    assert status == 200, used
    assert [one["app"]["metadata"]["id"]["name"] for one in used["apps"]] == ["model"]
    assert [(use["input"], use["actionId"]["name"]) for use in used["apps"][0]["uses"]] == [("model", "a0")]
    status, graph = server.call("flytebinary.insight.v1.ArtifactInsightService/GetLineage", {"runId": run})
    assert status == 200, graph
    assert [node["app"]["name"] for node in graph["nodes"] if "app" in node] == ["model"]


def test_streamlit():
    app = served(app_programs.page)
    assert httpx.get(f"{app.endpoint}/_stcore/health", timeout=60).text == "ok"
    assert "Streamlit" in httpx.get(f"{app.endpoint}/", timeout=60).text


def test_an_update_under_load_loses_no_request():
    app = served(app_programs.back_end)
    wrong, numbers, over = [], set(), threading.Event()

    def ask() -> None:
        with httpx.Client(timeout=60) as client:
            while not over.is_set():
                answer = client.get(f"{app.endpoint}/number")
                if answer.status_code == 200:
                    numbers.add(answer.json()["number"])
                else:
                    wrong.append((answer.status_code, answer.text))

    askers = [threading.Thread(target=ask) for _ in range(4)]
    for asker in askers:
        asker.start()
    try:
        changed = remote.App.get("back-end")
        body = changed.pb2
        body.spec.container.env.add(key="NUMBER", value="2")
        remote.App.update(body, "another number")
        remote.App.get("back-end").watch()
        eventually(lambda: 2 in numbers, what="an answer of the new revision")
    finally:
        over.set()
        for asker in askers:
            asker.join()
    assert not wrong, wrong[:3]
    assert numbers == {1, 2}
