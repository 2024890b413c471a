"""A task with triggers. The test says in the environment when the first slot is, and whether the code has triggers at all."""

import datetime
import os
import pathlib

import flyte
from flyte.io import File

env = flyte.TaskEnvironment(name="scheduled", resources=flyte.Resources(cpu="200m", memory="250Mi"))

START = datetime.datetime.fromisoformat(os.environ.get("E2E_FIRST_SLOT", "2026-01-01T00:00:00+00:00"))
ON = bool(os.environ.get("E2E_WITH_TRIGGERS"))

TRIGGERS = (
    flyte.Trigger(
        name="rate", automation=flyte.FixedRate(60 * 24, start_time=START), inputs={"at": flyte.TriggerTime, "x": 7},
        env_vars={"WHO": "the trigger"}, description="every day",
    ),
    flyte.Trigger(name="yearly", automation=flyte.Cron("0 0 1 1 *", timezone="Europe/Berlin"), inputs={"at": flyte.TriggerTime}),
    flyte.Trigger(name="manual", automation=None, inputs={"at": START, "x": 5}),
) if ON else ()

ON_ARTIFACT = (
    flyte.Trigger(
        name="on_report", automation=flyte.OnArtifact("report", region="us"),
        inputs={"report": flyte.TriggeredArtifact, "day": flyte.TriggeredPartition("date"), "words": "of"}, env_vars={"WHO": "the trigger"},
    ),
) if ON else ()

BREAKING = (
    flyte.Trigger(name="breaking", automation=flyte.Cron("0 0 1 1 *"), inputs={"at": flyte.TriggerTime, "folder": ""}),
) if ON else ()


@env.task(triggers=TRIGGERS)
async def main(at: datetime.datetime, x: int = 1) -> str:
    return f"{at.astimezone(datetime.UTC).isoformat()} {x} {os.environ.get('WHO', '')}"


@env.task(triggers=ON_ARTIFACT)
async def read(report: File, day: datetime.datetime, words: str) -> str:
    async with report.open("rb") as opened:
        text = bytes(await opened.read()).decode()
    return f"{text} {words} {day.astimezone(datetime.UTC).date()} {os.environ.get('WHO', '')}"


@env.task
async def part(at: datetime.datetime) -> str:
    return at.astimezone(datetime.UTC).isoformat()


@env.task(triggers=BREAKING)
async def breaks(at: datetime.datetime, folder: str) -> str:
    """Fails after its part, until there is a file."""
    said = await part(at)
    if not (pathlib.Path(folder) / "ready").exists():
        raise ValueError("not yet")
    return said
