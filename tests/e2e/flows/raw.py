"""Containers without the SDK: plain commands between an inputs and an outputs directory."""

import datetime
import typing
from dataclasses import dataclass

import flyte
import flyte.io
from flyte.extras import ContainerTask

SMALL = flyte.Resources(cpu="100m", memory="100Mi")
IMAGE = flyte.Image.from_base("alpine:3.20")


@dataclass
class Point:
    x: int
    y: float


def container(name: str, *command: str, **kwargs) -> ContainerTask:
    kwargs.setdefault("resources", SMALL)
    return ContainerTask(name=name, image=IMAGE, command=list(command), **kwargs)


def shell(name: str, script: str, **kwargs) -> ContainerTask:
    return container(name, "/bin/sh", "-ec", script, **kwargs)


scalars = shell(
    "scalars",
    """
    cd /var/inputs
    echo $(($(cat i) + 1)) > /var/outputs/i
    printf '%s!' "$(cat s)" > /var/outputs/s
    cat f > /var/outputs/f
    test "$(cat b)" = true && echo false > /var/outputs/b
    cp when span /var/outputs
    """,
    inputs={"i": int, "s": str, "f": float, "b": bool, "when": datetime.datetime, "span": datetime.timedelta},
    outputs={"i": int, "s": str, "f": float, "b": bool, "when": datetime.datetime, "span": datetime.timedelta},
)

templated = shell(
    "templated", "echo $(({{.inputs.a}} * {{.inputs.b}})) > /var/outputs/product",
    inputs={"a": int, "b": int}, outputs={"product": int},
)

upper = shell(
    "upper", "tr a-z A-Z < /var/inputs/infile > /var/outputs/outfile",
    inputs={"infile": flyte.io.File}, outputs={"outfile": flyte.io.File},
)

named = shell(
    "named", "ls /var/inputs/infile > /var/outputs/name", file_input_layout="NAMED_DIR",
    inputs={"infile": flyte.io.File}, outputs={"name": str},
)

folders = shell(
    "folders", "cp -r /var/inputs/folder /var/outputs/folder; mkdir /var/outputs/folder/deep; echo more > /var/outputs/folder/deep/new.txt",
    inputs={"folder": flyte.io.Dir}, outputs={"folder": flyte.io.Dir},
)

lists = shell(
    "lists",
    """
    cat /var/inputs/words/0 /var/inputs/words/1 > /var/outputs/joined
    mkdir /var/outputs/numbers
    for n in 1 2 10; do echo $n > /var/outputs/numbers/$n; done
    echo '{"one": 1}' > /var/outputs/counts
    """,
    inputs={"words": list[str]}, outputs={"joined": str, "numbers": list[int], "counts": dict[str, int]},
)

structs = shell(
    "structs", "cp /var/inputs/point /var/outputs/point", inputs={"point": Point}, outputs={"point": Point},
)

optional = shell(
    "optional", "test ! -e /var/inputs/maybe; echo here > /var/outputs/present",
    inputs={"maybe": typing.Optional[int]}, outputs={"absent": typing.Optional[int], "present": typing.Optional[str]},
)

as_json = container(
    "as_json", "python", "-c",
    "import json; d = json.load(open('/var/inputs/inputs.json')); open('/var/outputs/total', 'w').write(str(d['n'] + sum(d['l'])))",
    inputs={"n": int, "l": list[int]}, outputs={"total": int},
)

as_yaml = shell(
    "as_yaml", "grep '^count: 5$' /var/inputs/inputs.yaml; grep -c -- '- ' /var/inputs/inputs.yaml > /var/outputs/total",
    inputs={"count": int, "l": list[int]}, outputs={"total": int}, metadata_format="YAML",
)

own_folders = shell(
    "own_folders", "cat /tmp/raw-in/x > /srv/raw-out/x",
    inputs={"x": int}, outputs={"x": int}, input_data_dir="/tmp/raw-in", output_data_dir="/srv/raw-out",
)

silent = shell("silent", "echo nothing to carry")

scripted = shell("scripted", "echo words of the container; cp /var/inputs/x /var/outputs/x", inputs={"x": int}, outputs={"x": int})

exits = shell("exits", "echo about to fail; exit 3", outputs={"x": int}, retries=1)

forgets = shell("forgets", "true", outputs={"x": int})

babbles = shell("babbles", "echo forty-two > /var/outputs/x", outputs={"x": int})

unknown = container("unknown", "no-such-tool-anywhere", "--version", outputs={"x": int})

sleeps = shell("sleeps", "echo $$ > $PID_FILE; sleep 300", outputs={"x": int})

waits = shell(
    "waits", "touch {{.inputs.started}}; while [ ! -e {{.inputs.go_on}} ]; do sleep 0.1; done; echo 7 > /var/outputs/x",
    inputs={"started": str, "go_on": str}, outputs={"x": int},
)

containers = flyte.TaskEnvironment.from_task(
    "raw", scalars, templated, upper, named, folders, lists, structs, optional, as_json, as_yaml, own_folders, silent, scripted, exits,
    forgets, babbles, unknown, sleeps, waits,
)

env = flyte.TaskEnvironment(name="raw_parent", resources=flyte.Resources(cpu="200m", memory="250Mi"), depends_on=[containers])


@env.task
async def parent(x: int) -> int:
    """A container between Python tasks."""
    doubled = await templated(a=x, b=2)
    return doubled + 1
