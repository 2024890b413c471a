"""A FastAPI app that the end-to-end tests deploy."""

import os

import flyte
import flyte.app
from fastapi import FastAPI
from flyte.app.extras import FastAPIAppEnvironment

web = FastAPI()


@web.get("/greeting")
def greeting() -> dict:
    print("greeting was asked for", flush=True)
    return {"greeting": os.environ.get("GREETING", ""), "pid": os.getpid()}


fast = FastAPIAppEnvironment(
    name="fast", app=web, image="auto", resources=flyte.Resources(cpu="100m", memory="300Mi"), requires_auth=False, scaling=flyte.app.Scaling(replicas=(1, 1)),
    env_vars={"GREETING": os.environ.get("E2E_GREETING", "one")},
)
