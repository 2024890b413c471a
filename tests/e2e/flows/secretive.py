"""Tasks that read secrets."""

import os
import pathlib

import flyte
from flyte.extras import ContainerTask

SMALL = flyte.Resources(cpu="100m", memory="250Mi")
FILES = "/etc/flyte/secrets"

env = flyte.TaskEnvironment(name="secretive", resources=SMALL, secrets=["my-key", flyte.Secret("f1", mount=FILES)])
lacking = flyte.TaskEnvironment(name="lacking", resources=SMALL, secrets=["no-such-key"])


@env.task
async def read() -> tuple[str, str, str]:
    """The variable, the file in hexadecimal, and the variables of the process that have the value of the file's secret."""
    content = pathlib.Path(FILES, "f1").read_bytes()
    return os.environ["MY_KEY"], content.hex(), ",".join(name for name, value in os.environ.items() if value.encode("utf-8", "surrogateescape") == content)


@lacking.task
async def never() -> None:
    raise AssertionError("a task without its secret has started")


raw = ContainerTask(
    name="raw_secret", image=flyte.Image.from_base("alpine:3.20"), resources=SMALL, outputs={"got": str},
    command=["/bin/sh", "-ec", 'printf "%s %s" "$RAW" "$(wc -c < /etc/flyte/secrets/f1)" > /var/outputs/got'],
    secrets=[flyte.Secret("my-key", as_env_var="RAW"), flyte.Secret("f1", mount=FILES)],
)
raw_env = flyte.TaskEnvironment.from_task("raw_secrets", raw)


def fails(name: str, variable: str, *command: str) -> ContainerTask:
    """A container that does not start, or fails, with the secret in what is said about it."""
    return ContainerTask(
        name=name, image=flyte.Image.from_base("alpine:3.20"), resources=SMALL, command=list(command), retries=0,
        secrets=[flyte.Secret("told", as_env_var=variable)],
    )


telling = {
    "command": fails("telling_command", "RAW", "$(RAW)"),
    "path": fails("telling_path", "RAW", "/bin/$(RAW)"),
    "search": fails("telling_search", "PATH", "no-such-command"),
    "log": fails("telling_log", "RAW", "/bin/sh", "-ec", 'echo "got $RAW"; exit 3'),
}
telling_envs = [flyte.TaskEnvironment.from_task(task.name, task) for task in telling.values()]
