"""What a task can do with its token, and what it cannot. No other credential is in reach of these tasks."""

import base64
import json
import os
import time
import urllib.error
import urllib.request

import flyte

env = flyte.TaskEnvironment(name="guarded")
pooled = flyte.TaskEnvironment(name="guarded-pool", reusable=flyte.ReusePolicy(replicas=1, concurrency=1))
root = flyte.TaskEnvironment(name="guarded-root", depends_on=[env, pooled])


@env.task
async def double(n: int) -> int:
    return 2 * n


@pooled.task
async def triple(n: int) -> int:
    return 3 * (await double(n)) // 2


@root.task
async def family(n: int) -> list[int]:
    """A parent with children, in pods of their own and in a pool."""
    return [await double(n), *[await triple(k) for k in range(n)]]


def call(procedure: str, body: dict, endpoint: str | None = None) -> list:
    """The status and the answer of a call with the token of this task, or another one."""
    url = f"{endpoint or os.environ['_U_EP_OVERRIDE']}/{procedure}"
    request = urllib.request.Request(url, data=json.dumps(body).encode(), headers={"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return [answer.status, answer.read().decode()]
    except urllib.error.HTTPError as error:
        return [error.code, error.read().decode()]


@env.task
def attempts_all(calls: str) -> str:
    """Makes calls, each a name, a procedure and a body, and tells what came of them."""
    return json.dumps({name: call(procedure, body) for name, procedure, body in json.loads(calls)})


@env.task
def forges(calls: str) -> str:
    """The same call with changed tokens, and without any."""
    [[_, procedure, body]] = json.loads(calls)
    base, token = os.environ["_U_EP_OVERRIDE"].split("/t/")
    raw = bytearray(base64.urlsafe_b64decode(token[4:] + "=" * (-len(token[4:]) % 4)))
    found = {"own": call(procedure, body), "none": call(procedure, body, base)}
    for at in range(0, len(raw), 7):
        changed = raw.copy()
        changed[at] ^= 1
        forged = "fbt_" + base64.urlsafe_b64encode(changed).decode().rstrip("=")
        found[f"byte {at}"] = call(procedure, body, f"{base}/t/{forged}")
    return json.dumps(found)


@env.task
def holds(folder: str) -> str:
    """Leaves its address where only the test finds it, and runs until the test says so."""
    with open(os.path.join(folder, "endpoint"), "w") as file:
        file.write(os.environ["_U_EP_OVERRIDE"])
    while not os.path.exists(os.path.join(folder, "go")):
        time.sleep(0.1)
    return "released"


@env.task
def account() -> bool:
    """Whether the pod has a token for the Kubernetes API."""
    return os.path.exists("/var/run/secrets/kubernetes.io/serviceaccount/token")
