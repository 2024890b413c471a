"""A task of one container that Kueue admits as a Job."""

from __future__ import annotations

import flyte

from flows.gang import member

env = flyte.TaskEnvironment(name="on_kueue", resources=flyte.Resources(cpu="200m", memory="300Mi"))


@env.task
def meet(folder: str) -> str:
    return member(folder, 0, 1)
