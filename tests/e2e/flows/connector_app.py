"""The connector of batch_connector.py as an app."""

import os

import flyte
import flyte.app

connector = flyte.app.ConnectorEnvironment(
    name="batch-app", image="auto", include=["batch_connector.py"], resources=flyte.Resources(cpu="100m", memory="400Mi"),
    # By default c0 serves metrics on port 9092, which the replicas of a machine cannot all have.
    args=["c0", "--port", "8080", "--prometheus_port", "0", "--modules", "batch_connector"],
    env_vars={"BATCH_JOBS": os.environ.get("E2E_BATCH_JOBS", "/nowhere"), "BATCH_TYPE": "app_batch"},
)
