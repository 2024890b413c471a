"""Tasks and an app that show variables whose values have dollars, which Kubernetes would expand in a pod."""

import json
import os
import socket

import flyte
import flyte.app
from flyte.extras import ContainerTask

from flows.neighbours import program

SMALL = flyte.Resources(cpu="100m", memory="300Mi")
GIVEN = {"WORD": "pa$$word", "ONE": "1", "NAMED": "$(ONE)", "MIXED": "$${ONE} $ $(", "PATHLIKE": "$(HOME)/$$(ONE)"}
SHOWN = [*GIVEN, "1A", "OF_RUN", "OF_SETTINGS"]

plain = flyte.TaskEnvironment(name="variables", resources=SMALL, env_vars=GIVEN)
pooled = flyte.TaskEnvironment(name="variables_pooled", env_vars=GIVEN, reusable=flyte.ReusePolicy(replicas=(0, 1), concurrency=1))
shared = flyte.TaskEnvironment(name="variables_shared", env_vars=GIVEN, reusable=flyte.ReusePolicy(replicas=(0, 1), concurrency=2))


def variables() -> str:
    return json.dumps({name: os.environ[name] for name in SHOWN if name in os.environ})


@plain.task
async def in_a_pod() -> str:
    return variables()


@pooled.task
async def in_a_pool() -> str:
    return variables()


@shared.task
async def in_a_shared_process() -> str:
    return variables()


raw = ContainerTask(
    name="raw_variables", image=flyte.Image.from_base("alpine:3.20"), resources=SMALL, outputs={"got": str},
    command=["/bin/sh", "-ec", "env > /var/outputs/got"], env_vars=GIVEN,
)
raw_env = flyte.TaskEnvironment.from_task("raw_variables", raw)

SERVE = """
import http.server, json, os
class Show(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps(dict(os.environ)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
http.server.HTTPServer(("127.0.0.1", %d), Show).serve_forever()
"""


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def app() -> flyte.app.AppEnvironment:
    port = free_port()
    return flyte.app.AppEnvironment(
        name="variables", image="auto", args=program(SERVE % port), port=port, resources=SMALL, requires_auth=False,
        scaling=flyte.app.Scaling(replicas=(1, 1)), env_vars=GIVEN,
    )
