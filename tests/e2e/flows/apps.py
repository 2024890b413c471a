"""A program that serves files, which the end-to-end tests deploy as an app."""

import os

import flyte
import flyte.app

ALWAYS = flyte.app.Scaling(replicas=(1, 1))
SMALL = flyte.Resources(cpu="100m", memory="300Mi")
PORT = int(os.environ.get("E2E_APP_PORT", "18555"))

files = flyte.app.AppEnvironment(
    name="files", image="auto", args=["python", "-u", "-m", "http.server", str(PORT)], port=PORT, resources=SMALL, requires_auth=False,
    scaling=ALWAYS, env_vars={"GREETING": os.environ.get("E2E_GREETING", "one")},
)
