"""Every kind of value that the SDK can send, through a parent and a child and back."""

import datetime
import enum
import typing
from dataclasses import dataclass

import flyte
import flyte.io
import pandas as pd
from pydantic import BaseModel

env = flyte.TaskEnvironment(name="kinds", resources=flyte.Resources(cpu="200m", memory="400Mi"))


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int
    y: float
    tags: list[str]


class Order(BaseModel):
    name: str
    lines: dict[str, int]


@env.task
async def echo_scalars(
    i: int, f: float, s: str, b: bool, when: datetime.datetime, span: datetime.timedelta
) -> tuple[int, float, str, bool, datetime.datetime, datetime.timedelta]:
    return i, f, s, b, when, span


@env.task
async def scalars(
    i: int, f: float, s: str, b: bool, when: datetime.datetime, span: datetime.timedelta
) -> tuple[int, float, str, bool, datetime.datetime, datetime.timedelta]:
    return await echo_scalars(i, f, s, b, when, span)


@env.task
async def echo_structs(point: Point, order: Order, colour: Colour, raw: bytes) -> tuple[Point, Order, Colour, bytes]:
    return point, order, colour, raw


@env.task
async def structs(point: Point, order: Order, colour: Colour, raw: bytes) -> tuple[Point, Order, Colour, bytes]:
    return await echo_structs(point, order, colour, raw)


@env.task
async def echo_collections(
    nested: list[list[int]],
    mapping: dict[str, dict[str, float]],
    points: list[Point],
    either: typing.Union[int, str],
    maybe: typing.Optional[int] = None,
) -> tuple[list[list[int]], dict[str, dict[str, float]], list[Point], typing.Union[int, str], typing.Optional[int]]:
    return nested, mapping, points, either, maybe


@env.task
async def collections(
    nested: list[list[int]],
    mapping: dict[str, dict[str, float]],
    points: list[Point],
    either: typing.Union[int, str],
    maybe: typing.Optional[int] = None,
) -> tuple[list[list[int]], dict[str, dict[str, float]], list[Point], typing.Union[int, str], typing.Optional[int]]:
    return await echo_collections(nested, mapping, points, either, maybe)


@env.task
async def write_file(text: str) -> flyte.io.File:
    with open("note.txt", "w") as out:
        out.write(text)
    return await flyte.io.File.from_local("note.txt")


@env.task
async def read_file(file: flyte.io.File) -> str:
    path = await file.download()
    with open(path) as source:
        return source.read()


@env.task
async def file_round_trip(text: str) -> str:
    return await read_file(await write_file(text))


@env.task
async def write_dir(names: list[str]) -> flyte.io.Dir:
    import os

    os.makedirs("tree/sub", exist_ok=True)
    for name in names:
        with open(f"tree/sub/{name}", "w") as out:
            out.write(name)
    return await flyte.io.Dir.from_local("tree")


@env.task
async def list_dir(tree: flyte.io.Dir) -> list[str]:
    import pathlib

    root = pathlib.Path(await tree.download())
    return sorted(p.name for p in root.rglob("*") if p.is_file())


@env.task
async def dir_round_trip(names: list[str]) -> list[str]:
    return await list_dir(await write_dir(names))


@env.task
async def make_frame(rows: int) -> pd.DataFrame:
    return pd.DataFrame({"n": range(rows), "square": [i * i for i in range(rows)]})


@env.task
async def sum_frame(frame: pd.DataFrame) -> int:
    return int(frame["square"].sum())


@env.task
async def frame_round_trip(rows: int) -> int:
    return await sum_frame(await make_frame(rows))
