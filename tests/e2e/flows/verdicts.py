"""What a program can do to itself, and to those beside it."""

import atexit
import glob
import os
import re
import signal
import sys
import time

import flyte
import flyte.errors

env = flyte.TaskEnvironment(name="verdicts", resources=flyte.Resources(cpu="100m", memory="400Mi"))
pool = flyte.TaskEnvironment(
    name="verdicts-pool", resources=flyte.Resources(cpu="100m", memory=("400Mi", "500Mi")),
    reusable=flyte.ReusePolicy(replicas=(0, 1), concurrency=1),
)
driver = flyte.TaskEnvironment(name="verdicts-driver", resources=flyte.Resources(cpu="100m", memory="400Mi"), depends_on=[pool])


def misbehave(how: str, ledger: str) -> int:
    """Leaves a line in the ledger, so that a second attempt is seen, and then does one thing."""
    with open(ledger, "a") as file:
        file.write(how + "\n")
    outputs = next(arg for at, arg in enumerate(sys.argv) if at and sys.argv[at - 1] == "--outputs-path")
    match how:
        case "exit":
            sys.exit(0)
        case "_exit":
            os._exit(0)
        case "huge":
            raise ValueError("first" + "x" * 12_000_000)
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "terminate":
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)
        case "garbage":
            os.makedirs(outputs, exist_ok=True)
            with open(os.path.join(outputs, "error.pb"), "wb") as file:
                file.write(b"garbage")
            os._exit(0)
        case "delete":
            atexit.register(lambda: os.remove(os.path.join(outputs, "outputs.pb")))
            return 1
    raise AssertionError("it goes on")


@env.task
def alone(how: str, ledger: str) -> int:
    return misbehave(how, ledger)


@pool.task
def pooled(how: str, ledger: str) -> int:
    return misbehave(how, ledger)


@pool.task
def hog(megabytes: int, ledger: str) -> int:
    with open(ledger, "a") as file:
        file.write("hog\n")
    block = bytearray(megabytes * 1024 * 1024)
    for i in range(0, len(block), 4096):
        block[i] = 1
    time.sleep(60)
    return len(block)


@driver.task
async def rescues(ledger: str) -> str:
    """Handles that its child used too much memory, as the SDK's examples do."""
    try:
        await hog.aio(900, ledger)
    except flyte.errors.OOMError as error:
        return f"{error.code}: {error}"
    return "nothing was raised"


@pool.task
def reads_tokens() -> list[str]:
    """Tokens of workers that a task finds in the environments of the processes above it, and of all others that it may read."""
    found = []
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(path, "rb") as file, open(os.path.dirname(path) + "/cmdline", "rb") as line:
                variables, command = file.read(), line.read()
        except OSError:
            continue
        for token in re.findall(rb"FLYTE_WORKER_TOKEN=[^\0]+", variables):
            if os.readlink(os.path.dirname(path) + "/exe") == os.readlink(f"/proc/{worker()}/exe"):
                found.append(f"{command!r} {len(token)}")
    return found


def worker() -> int:
    """The process of this task's worker."""
    pid = os.getpid()
    while pid > 1:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            if file.read().split(b"\0")[1:2] == [b"worker"]:
                return pid
        with open(f"/proc/{pid}/stat") as file:
            pid = int(file.read().rsplit(")", 1)[1].split()[1])
    raise AssertionError("no worker above this process")
