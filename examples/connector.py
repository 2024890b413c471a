"""A connector of your own, and a task that it runs (docs/connectors.md). The other system is a directory here: a job is a file in it.

    pip install 'flyte[connector]'
    c0 --port 8000 --modules connector          # here, in examples/
    flyte-binary demo --set 'connectors.endpoints=[{"name": "words", "url": "http://127.0.0.1:8000"}]'
    python connector.py
"""

import json
import pathlib
import tempfile
import time
from dataclasses import dataclass

import flyte
from flyte.connectors import AsyncConnector, AsyncConnectorExecutorMixin, ConnectorRegistry, Resource, ResourceMeta
from flyte.extend import TaskTemplate
from flyte.models import NativeInterface
from flyteidl2.connector.connector_pb2 import GetTaskLogsResponse, GetTaskLogsResponseBody
from flyteidl2.core.execution_pb2 import TaskExecution, TaskLog
from flyteidl2.logs.dataplane.payload_pb2 import LogLine

JOBS = pathlib.Path(tempfile.gettempdir()) / "word-jobs"
SECONDS = 5  # that a job takes


@dataclass
class WordMeta(ResourceMeta):
    job_id: str

    def job(self) -> dict:
        return json.loads((JOBS / self.job_id).read_text())


class WordConnector(AsyncConnector[WordMeta]):
    name = "Word Connector"
    task_type_name = "count_words"
    metadata_type = WordMeta

    async def create(self, task_template, output_prefix, inputs=None, task_execution_metadata=None, **kwargs) -> WordMeta:
        # The server asks with the same key again if it did not get the answer: then there must not be a second job.
        key = task_execution_metadata.annotations["flyte.org/idempotency-key"]
        JOBS.mkdir(exist_ok=True)
        if not (JOBS / key).exists():
            (JOBS / key).write_text(json.dumps({"text": inputs["text"], "began": time.time()}))
        return WordMeta(job_id=key)

    async def get(self, resource_meta: WordMeta, **kwargs) -> Resource:
        job = resource_meta.job()
        link = TaskLog(name="Job", uri=f"https://words.example/{resource_meta.job_id}", ready=True)
        if time.time() < job["began"] + SECONDS:
            return Resource(phase=TaskExecution.RUNNING, message="counting", log_links=[link])
        return Resource(phase=TaskExecution.SUCCEEDED, log_links=[link], outputs={"words": len(job["text"].split())})

    async def get_logs(self, resource_meta: WordMeta, **kwargs) -> GetTaskLogsResponse:
        words = resource_meta.job()["text"].split()
        return GetTaskLogsResponse(body=GetTaskLogsResponseBody(lines=[LogLine(message=f"counted {word}") for word in words]))

    async def delete(self, resource_meta: WordMeta, **kwargs) -> None:
        (JOBS / resource_meta.job_id).unlink(missing_ok=True)


ConnectorRegistry.register(WordConnector(), override=True)


class CountWords(AsyncConnectorExecutorMixin, TaskTemplate):
    def __init__(self, name: str):
        super().__init__(name=name, interface=NativeInterface({"text": (str, None)}, {"words": int}), task_type="count_words", image=None)


count_words = CountWords("count_words")
env = flyte.TaskEnvironment.from_task("words", count_words)

if __name__ == "__main__":
    flyte.init(endpoint="dns:///localhost:8080", insecure=True, project="flytesnacks", domain="development")
    run = flyte.run(count_words, text="to be or not to be")
    print(run.url)
    run.wait(quiet=True)
    print(run.outputs()[0])
