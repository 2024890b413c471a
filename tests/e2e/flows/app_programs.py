"""Apps of the kinds that people deploy: their environments, and the tasks that they work with."""

import os
import pathlib
import socket

import flyte
import flyte.app
import flyte.io
import flyte.remote
from fastapi import FastAPI
from flyte.ai.mcp import MCPAppEnvironment
from flyte.app.extras import FastAPIAppEnvironment, FlyteWebhookAppEnvironment
from mcp.server.fastmcp import FastMCP

SMALL = flyte.Resources(cpu="100m", memory="300Mi")
# The environment of the demo has what all of these programs import. Images of their own would be built.
BASE = flyte.Image.from_debian_base()

tasks = flyte.TaskEnvironment(name="app_tasks", resources=SMALL)

tools = FastMCP("tools", stateless_http=True)


@tools.tool()
def double(n: int) -> int:
    """Twice the number."""
    return 2 * n



def own_port() -> str:
    """A port that no other program of this machine has: the SDK's MCP server listens on no other than the declared one."""
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return str(any_port.getsockname()[1])


MCP_PORT = os.environ.get("MCP_PORT") or own_port()  # in the app's process, the one with which it was deployed
mcp = MCPAppEnvironment(
    name="tools", image=BASE, mcp=tools, port=int(MCP_PORT), env_vars={"MCP_PORT": MCP_PORT}, resources=SMALL, requires_auth=False,
)

webhook = FlyteWebhookAppEnvironment(name="hooks", image=BASE, endpoints=["health", "run_task", "get_run"], resources=SMALL, requires_auth=False)

# The backend serves; the front end asks it for each request, and a task asks the front end.
back = FastAPI()
back_end = FastAPIAppEnvironment(name="back-end", app=back, resources=SMALL, requires_auth=False)
front = FastAPI()
front_end = FastAPIAppEnvironment(
    name="front-end", app=front, resources=SMALL, requires_auth=False, depends_on=[back_end],
    parameters=[flyte.app.Parameter(name="upstream", value=flyte.app.AppEndpoint(app_name="back-end"), env_var="UPSTREAM")],
)


@back.get("/number")
async def number() -> dict[str, int]:
    return {"number": int(os.environ.get("NUMBER", "1"))}


@front.get("/sum")
async def total(n: int) -> dict[str, int]:
    import httpx

    async with httpx.AsyncClient() as client:
        by_parameter = (await client.get(f"{os.environ['UPSTREAM']}/number")).json()["number"]
        by_endpoint = (await client.get(f"{back_end.endpoint}/number")).json()["number"]
    return {"sum": n + by_parameter + by_endpoint}


@front.post("/start")
async def start(words: str) -> dict[str, str]:
    """Starts a run."""
    task = flyte.remote.Task.get("app_tasks.train", auto_version="latest")
    return {"run": (await flyte.run.aio(task, words=words)).name}


@tasks.task
async def ask(n: int) -> int:
    """Asks the front end."""
    import httpx

    async with httpx.AsyncClient(timeout=60) as client:
        answer = await client.get(f"{front_end.endpoint}/sum", params={"n": n})
    answer.raise_for_status()
    return answer.json()["sum"]


@tasks.task
async def train(words: str) -> flyte.io.File:
    """Makes the file that the app below serves."""
    path = pathlib.Path("model.txt")
    path.write_text(words)
    return await flyte.io.File.from_local(str(path))


model = FastAPI()


@model.get("/model")
async def content() -> dict[str, str]:
    return {
        "model": pathlib.Path(os.environ["MODEL"]).read_text(),
        "secret": os.environ["APP_KEY"],
        "file": pathlib.Path("/etc/flyte/secrets/app-file").read_bytes().hex(),
        "greeting": os.environ["GREETING"],
    }


# It has the output of the last run of a task, two secrets and a text.
model_server = FastAPIAppEnvironment(
    name="model", app=model, resources=SMALL, requires_auth=False,
    secrets=["app-key", flyte.Secret("app-file", mount="/etc/flyte/secrets")],
    parameters=[
        flyte.app.Parameter(name="model", value=flyte.app.RunOutput(type="file", task_name="app_tasks.train"), env_var="MODEL"),
        flyte.app.Parameter(name="greeting", value="good day", env_var="GREETING"),
    ],
)

page = flyte.app.AppEnvironment(
    name="page", resources=SMALL, requires_auth=False, port=8501, include=["page.py"],
    args=["streamlit", "run", "flows/page.py", "--server.port", "8501", "--server.headless", "true", "--server.fileWatcherType", "none",
          "--browser.gatherUsageStats", "false"],
)
