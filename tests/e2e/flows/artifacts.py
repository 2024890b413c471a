"""Tasks that make and use artifacts."""

import tempfile

import flyte
import flyte.artifacts
import flyte.remote
from flyte.io import File

env = flyte.TaskEnvironment(name="artifacts", resources=flyte.Resources(cpu="200m", memory="250Mi"))


async def written(text: str) -> File:
    with tempfile.NamedTemporaryFile("w", delete=False) as out:
        out.write(text)
    return await File.from_local(out.name)


async def content(file: File) -> str:
    async with file.open("rb") as opened:
        return bytes(await opened.read()).decode()


@env.task(produces_artifacts=True)
async def train(name: str, words: str, data: File | None = None) -> File:
    text = words if data is None else words + " of " + await content(data)
    about = flyte.artifacts.Metadata(name=name, partitions={"region": "us"}, description="made by a task")
    return flyte.artifacts.new(await written(text), about)


@env.task
async def read(data: File) -> str:
    return await content(data)


@env.task
async def rehearse(name: str, data: File) -> str:
    """Hands one of its inputs to a child, and what another child has made to a third."""
    model = await train(name=name, words="rehearsed", data=data)
    return await read(data=data) + ", " + await read(data=model)


@env.task
async def fetch_and_read(name: str) -> str:
    """Finds an artifact itself; its own inputs do not have it."""
    model = await flyte.remote.Artifact.get.aio(name)
    return await read(data=await model.to_python(File))
