"""Tasks that return what they made in places that do not last, and go on to change it."""

import asyncio
import os
import pathlib
import shutil
import tempfile

import flyte
import flyte.io
import pandas as pd

env = flyte.TaskEnvironment(name="kept", resources=flyte.Resources(cpu="200m", memory="400Mi"))


def fill(folder: str, text: str) -> tuple[pathlib.Path, pathlib.Path]:
    """A file and a directory."""
    file, tree = pathlib.Path(folder) / "note.txt", pathlib.Path(folder) / "tree"
    (tree / "below").mkdir(parents=True)
    for path in (file, tree / "below" / "part.txt"):
        path.write_text(text)
    return file, tree


@env.task
async def from_temporary(text: str) -> tuple[flyte.io.File, flyte.io.Dir, pd.DataFrame]:
    with tempfile.TemporaryDirectory() as folder:
        file, tree = fill(folder, text)
        kept = await flyte.io.File.from_local(file), await flyte.io.Dir.from_local(tree)
        file.write_text("changed after the fact")
        (tree / "below" / "part.txt").write_text("changed after the fact")
        return *kept, pd.DataFrame({"text": [text]})


@env.task
def from_temporary_sync(text: str) -> tuple[flyte.io.File, flyte.io.Dir, flyte.io.DataFrame]:
    with tempfile.TemporaryDirectory() as folder:
        file, tree = fill(folder, text)
        kept = flyte.io.File.from_local_sync(file), flyte.io.Dir.from_local_sync(tree)
        file.write_text("changed after the fact")
        shutil.rmtree(tree)
        return *kept, flyte.io.DataFrame.from_df(pd.DataFrame({"text": [text]}))


@env.task
async def read(file: flyte.io.File, tree: flyte.io.Dir, frame: pd.DataFrame) -> list[str]:
    """Reads everything, and writes over what it downloaded."""
    paths = [pathlib.Path(await file.download()), pathlib.Path(await tree.download()) / "below" / "part.txt"]
    texts = [path.read_text() for path in paths]
    for path in paths:
        path.write_text("changed by a reader")
    async with file.open("rb") as stream:
        texts.append(bytes(await stream.read()).decode())
    return [*texts, *frame["text"]]


@env.task
async def main(text: str, sync: bool) -> tuple[flyte.io.File, flyte.io.Dir, pd.DataFrame, list[str]]:
    file, tree, frame = await (from_temporary_sync.aio(text) if sync else from_temporary(text))
    if isinstance(frame, flyte.io.DataFrame):
        frame = await frame.open(pd.DataFrame).all()
    seen = await read(file, tree, frame)
    return file, tree, frame, seen + await read(file, tree, frame)


@env.task
async def text_of(file: flyte.io.File, after: str) -> str:
    """Reads the file when another one exists."""
    while not os.path.exists(after):
        await asyncio.sleep(0.05)
    async with file.open("rb") as stream:
        return bytes(await stream.read()).decode()


@env.task
async def hands_over() -> list[str]:
    """Writes the same file for every child, and removes it before they read."""
    with tempfile.TemporaryDirectory() as folder:
        path, after, children = pathlib.Path(folder) / "same.txt", str(pathlib.Path(folder) / "after"), []
        for text in ("one", "two"):
            path.write_text(text)
            file = await flyte.io.File.from_local(path)
            children.append(asyncio.create_task(text_of(file, after)))
        path.unlink()
        pathlib.Path(after).touch()
        return list(await asyncio.gather(*children))
