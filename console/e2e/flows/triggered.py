"""A task that runs for each new version of an artifact in one region, with versions of it, and a secret."""

import pathlib
import tempfile

import flyte
from flyte.io import File
from flyte.remote import Artifact, Secret

env = flyte.TaskEnvironment(name="triggered", resources=flyte.Resources(cpu="100m", memory="200Mi"))


@env.task(
    triggers=flyte.Trigger(
        name="on_figures",
        automation=flyte.OnArtifact("shown-figures", region="us"),
        inputs={"figures": flyte.TriggeredArtifact},
        description="reads each version of the figures of one region",
    )
)
async def read(figures: File) -> str:
    async with figures.open("rb") as opened:
        return bytes(await opened.read()).decode()


def prepare(version: str) -> None:
    """Deploys the task, then publishes a version that its trigger fires for and one that it ignores."""
    flyte.deploy(env, version=version)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "figures.txt")
        path.write_text("1 2 3")
        for number, region in (("1", "us"), ("2", "eu")):
            Artifact.create(File.from_local_sync(str(path)), name="shown-figures", version=number, partitions={"region": region})
    Secret.create(name="shown-key", value="not shown")
