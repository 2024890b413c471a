"""A connector to a batch system that is a directory: what it is asked to do, and how its jobs are. `c0 --modules batch_connector`
serves it. Jobs survive the connector, as those of a real system do."""

from __future__ import annotations

import json
import os
import pathlib
import time
import urllib.error
import urllib.request
from dataclasses import dataclass

from flyte.connectors import AsyncConnector, ConnectorRegistry, Resource, ResourceMeta
from flyteidl2.connector.connector_pb2 import GetTaskLogsResponse, GetTaskLogsResponseBody, GetTaskLogsResponseHeader, GetTaskMetricsResponse
from flyteidl2.core.execution_pb2 import TaskExecution, TaskLog
from flyteidl2.core.metrics_pb2 import ExecutionMetricResult
from flyteidl2.logs.dataplane.payload_pb2 import LogLine, LogLineOriginator
from google.protobuf.struct_pb2 import Struct

JOBS = pathlib.Path(os.environ["BATCH_JOBS"])


@dataclass
class BatchMeta(ResourceMeta):
    job_id: str


def note(what: str, **about) -> None:
    with (JOBS / "calls").open("a") as calls:
        calls.write(json.dumps({"what": what, **about}) + "\n")


def listed(domain: str) -> int:
    """The status of a call as the app that this process is a replica of."""
    body = {"projectId": {"name": "flytesnacks", "domain": domain}}
    request = urllib.request.Request(
        f"{os.environ['_U_EP_OVERRIDE']}/flyteidl2.workflow.RunService/ListRuns", json.dumps(body).encode(), {"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


class BatchConnector(AsyncConnector):
    name = "Batch Connector"
    task_type_name = os.environ.get("BATCH_TYPE", "directory_batch")
    metadata_type = BatchMeta

    async def create(self, task_template, output_prefix, inputs=None, task_execution_metadata=None, **kwargs) -> BatchMeta:
        key = task_execution_metadata.annotations["flyte.org/idempotency-key"]
        environment = dict(task_execution_metadata.environment_variables)
        note("create", key=key, inputs=inputs, secrets=kwargs, sql=task_template.sql.statement, environment=environment)
        if inputs and inputs.get("word") == "as itself":
            note("itself", listed={domain: listed(domain) for domain in ("development", "production")})
        if inputs and inputs.get("word") == "refused":
            raise ValueError("the batch system takes no such word")
        job = JOBS / key
        if not job.exists():
            job.write_text(json.dumps({"phase": "RUNNING", "word": (inputs or {}).get("word", "")}))
        return BatchMeta(job_id=key)

    async def get(self, resource_meta: BatchMeta, **kwargs) -> Resource:
        job = json.loads((JOBS / resource_meta.job_id).read_text())
        links = [TaskLog(uri=f"https://batch.example/{resource_meta.job_id}", name="Batch console")]
        outputs = {"result": job["word"].upper()} if job["phase"] == "SUCCEEDED" else None
        return Resource(phase=TaskExecution.Phase.Value(job["phase"]), message="in the directory", log_links=links, outputs=outputs)

    async def get_logs(self, resource_meta: BatchMeta, token: str = "", **kwargs):
        job = json.loads((JOBS / resource_meta.job_id).read_text())
        page = int(token or 0)
        note("logs", key=resource_meta.job_id)
        lines = [LogLine(message=f"page {page} of {job['word']}", originator=LogLineOriginator.USER)]
        yield GetTaskLogsResponse(body=GetTaskLogsResponseBody(lines=lines))
        if page < 2:
            yield GetTaskLogsResponse(header=GetTaskLogsResponseHeader(token=str(page + 1)))

    async def get_metrics(self, resource_meta: BatchMeta, **kwargs) -> GetTaskMetricsResponse:
        note("metrics", key=resource_meta.job_id)
        slots, stage = Struct(), Struct()
        now = time.time()
        values = [[now - 60 + second, str(second % 7)] for second in range(60)]
        slots.update({"resultType": "matrix", "result": [{"metric": {"pool": "small"}, "values": values}]})
        stage.update({"stage": "shuffle", "done": 3, "of": 5})
        return GetTaskMetricsResponse(results=[
            ExecutionMetricResult(metric="slots", data=slots), ExecutionMetricResult(metric="progress", data=stage),
        ])

    async def delete(self, resource_meta: BatchMeta, **kwargs) -> None:
        note("delete", key=resource_meta.job_id)


ConnectorRegistry.register(BatchConnector())
