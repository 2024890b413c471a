"""Containers that know nothing of this system: plain commands between two directories."""

import typing

import flyte
import flyte.io
from flyte.extras import ContainerTask

SMALL = flyte.Resources(cpu="100m", memory="100Mi")
IMAGE = flyte.Image.from_base("alpine:3.20")


def shell(name: str, script: str, **kwargs) -> ContainerTask:
    kwargs.setdefault("resources", SMALL)
    return ContainerTask(name=name, image=IMAGE, command=["/bin/sh", "-ec", script], **kwargs)


scalars = shell(
    "scalars",
    """
    cd /var/inputs
    echo $(($(cat i) + 1)) > /var/outputs/i
    printf '%s!' "$(cat s)" > /var/outputs/s
    cat f > /var/outputs/f
    test "$(cat b)" = true && echo false > /var/outputs/b
    """,
    inputs={"i": int, "s": str, "f": float, "b": bool},
    outputs={"i": int, "s": str, "f": float, "b": bool},
)

templated = shell(
    "templated", "echo $(({{.inputs.a}} * {{.inputs.b}})) > /var/outputs/product", inputs={"a": int, "b": int}, outputs={"product": int}
)

env = flyte.TaskEnvironment.from_task("raw", scalars, templated)
