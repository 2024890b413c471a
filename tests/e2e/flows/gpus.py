"""Tasks that request GPUs. None of them uses one: they say which they would see."""

import os
import pathlib
import time

import flyte

small = {"cpu": "100m", "memory": "200Mi"}
one = flyte.TaskEnvironment(name="one_gpu", resources=flyte.Resources(gpu=1, **small))
named = flyte.TaskEnvironment(name="named_gpu", resources=flyte.Resources(gpu="H200:1", **small))
two = flyte.TaskEnvironment(name="two_gpus", resources=flyte.Resources(gpu="H200:2", **small))
other = flyte.TaskEnvironment(name="other_gpu", resources=flyte.Resources(gpu="A100:1", **small))
none = flyte.TaskEnvironment(name="no_gpu", resources=flyte.Resources(**small))
pool = flyte.TaskEnvironment(
    name="gpu_pool", resources=flyte.Resources(gpu=1, **small), reusable=flyte.ReusePolicy(replicas=(0, 1), idle_ttl=30, scaledown_ttl=30),
)


def seen() -> str:
    """The variable itself: a missing one would leave every GPU visible."""
    return os.environ["CUDA_VISIBLE_DEVICES"]


@one.task
def alone(folder: str) -> str:
    """Fails if another task has the GPU at the same time."""
    busy = pathlib.Path(folder) / "busy"
    busy.open("x").close()
    time.sleep(0.5)  # so that another would notice
    busy.unlink()
    return seen()


@one.task
def rocm() -> str:
    return os.environ["ROCR_VISIBLE_DEVICES"]


@named.task
def by_name() -> str:
    return seen()


@none.task
def without() -> str:
    return seen()


@two.task
def too_many() -> str:
    return seen()


@other.task
def another_model() -> str:
    return seen()


@pool.task
def reused() -> str:
    return seen()
