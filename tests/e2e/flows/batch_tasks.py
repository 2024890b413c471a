"""Tasks of the connector of batch_connector.py, as plugins of the SDK declare theirs."""

from __future__ import annotations

from typing import Any

import flyte
from flyte.connectors import AsyncConnectorExecutorMixin
from flyte.extend import TaskTemplate
from flyte.models import NativeInterface, SerializationContext
from flyteidl2.core import tasks_pb2


class BatchTask(AsyncConnectorExecutorMixin, TaskTemplate):
    def __init__(self, name: str, task_type: str = "directory_batch", statement: str = "", **kwargs):
        super().__init__(
            name=name, interface=NativeInterface({"word": (str, None)}, {"result": str}), task_type=task_type, image=None, **kwargs
        )
        self.statement = statement

    def custom_config(self, sctx: SerializationContext) -> dict[str, Any]:
        return {"cluster": "small", "secrets": {"token": "batch-token"}}

    def sql(self, sctx: SerializationContext) -> tasks_pb2.Sql | None:
        return tasks_pb2.Sql(statement=self.statement) if self.statement else None


batch = BatchTask("batch")
query = BatchTask("query", statement="SELECT '{{.inputs.word}}'")
nowhere = BatchTask("nowhere", task_type="no_such_batch")
app = BatchTask("app", task_type="app_batch")

env = flyte.TaskEnvironment.from_task("batch_env", batch, query, nowhere, app)
