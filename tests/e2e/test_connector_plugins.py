"""The released plugins for BigQuery, Snowflake and Databricks: submitted by the SDK, run by their own connectors, against doubles of the
clouds' APIs."""

from __future__ import annotations

import importlib.metadata
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import flyte
import flyte.remote as remote
import pytest

pytest.importorskip("flyteplugins.snowflake", reason="needs the plugins of connectors, which make connectors-plugins installs")

from clouds import BigQuery, Cloud, Databricks, Snowflake, certificate
from conftest import connect
from server import Server, eventually, free_port
from test_connectors import Batch, phase_of

FLOWS = pathlib.Path(__file__).resolve().parent / "flows"


class Plugins(Batch):
    """The connector's process: c0 with the connectors of all installed packages."""

    def __init__(self, folder: pathlib.Path):
        super().__init__(folder)
        self.bigquery, self.snowflake = BigQuery(), Snowflake()
        tls = certificate(folder)
        self.databricks = Databricks(tls)
        self.environment = {"BIGQUERY_EMULATOR_HOST": f"http://127.0.0.1:{self.bigquery.port}", "SSL_CERT_FILE": str(tls[0])}

    def start(self) -> None:
        c0 = str(pathlib.Path(sys.executable).parent / "c0")
        out = self.log.open("ab")
        self.process = subprocess.Popen(
            [c0, "--port", str(self.port), "--prometheus_port", str(free_port())], cwd=FLOWS, env=dict(os.environ, **self.environment),
            stdout=out, stderr=out, start_new_session=True,
        )

    def clouds(self) -> list[Cloud]:
        return [self.bigquery, self.snowflake, self.databricks]

    def stop(self) -> None:
        super().stop()
        for cloud in self.clouds():
            cloud.stop()


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory):
    instance = Plugins(tmp_path_factory.mktemp("plugins"))
    instance.start()
    yield instance
    instance.stop()


@pytest.fixture(scope="module")
def tasks(plugins: Plugins):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SNOWFLAKE_PORT", str(plugins.snowflake.port))
        patch.setenv("DATABRICKS_PORT", str(plugins.databricks.port))
        from flows import cloud_tasks

        yield cloud_tasks


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, plugins: Plugins):
    endpoint = json.dumps([{"name": "clouds", "url": f"http://127.0.0.1:{plugins.port}"}])
    instance = Server(tmp_path_factory.mktemp("served"), "--set", f"connectors.endpoints={endpoint}")
    instance.start()
    connect(instance)
    remote.Secret.create("bigquery-account", plugins.bigquery.account(), type="regular")
    remote.Secret.create("SNOWFLAKE_KEY", plugins.snowflake.pem, type="regular")
    remote.Secret.create("SNOWFLAKE", plugins.snowflake.pem, type="regular")  # the name in the plugin's own example
    remote.Secret.create("databricks-token", plugins.databricks.token, type="regular")
    yield instance
    instance.stop()


@pytest.fixture(autouse=True)
def connected(served: Server, plugins: Plugins):
    connect(served)
    yield
    assert [cloud.wrong for cloud in plugins.clouds()] == [[], [], []]


def begin(cloud: Cloud, task, **inputs):
    """Starts a run, and waits until the cloud has its job."""
    before = set(cloud.jobs)
    run = submitted(task, **inputs)
    return run, eventually(lambda: next(iter(set(cloud.jobs) - before), None), what=f"the cloud has the job of {run.name}")


def submitted(task, **inputs):
    def attempt():
        try:
            return flyte.run(task, **inputs)
        except Exception as e:
            if "no connector serves" in str(e):  # the server has not asked the connector yet
                return None
            raise

    return eventually(attempt, what="the type is served")


def ended(run) -> str:
    run.wait(quiet=True)
    return phase_of(run.name)


def error_of(run) -> str:
    return str(remote.RunDetails.get(run.name).action_details.error_info)


def links(run) -> list[str]:
    return [link.uri for link in remote.RunDetails.get(run.name).action_details.pb2.attempts[0].log_info]


def location(run) -> str:
    return run.outputs()[0].uri


def test_a_query_runs_in_bigquery(plugins: Plugins, tasks):
    run, name = begin(plugins.bigquery, tasks.orders, least=100, country="DE")
    job = plugins.bigquery.jobs[name]
    query = job["configuration"]["query"]
    assert query["query"] == "SELECT * FROM shop.orders WHERE total > @least AND 'DE' = country"
    assert {p["name"]: p["parameterValue"]["value"] for p in query["queryParameters"]} == {"least": "100", "country": "DE"}
    assert "Flyte/" in job["agent"]
    plugins.bigquery.done(name)
    assert ended(run) == "succeeded", error_of(run)
    assert location(run) == "bq://warehouse:_anon.t1"
    assert links(run) == [f"https://console.cloud.google.com/bigquery?project=warehouse&j=bq:EU:{name}&page=queryresults"]
    assert len(plugins.bigquery.jobs) == 1


def test_a_query_fails_in_bigquery(plugins: Plugins, tasks):
    run, name = begin(plugins.bigquery, tasks.orders, least=1, country="FR")
    plugins.bigquery.done(name, errorResult={"reason": "notFound", "message": "Not found: Table orders"},
                          errors=[{"reason": "notFound", "message": "Not found: Table orders"}])
    assert ended(run) == "failed"
    assert "JobFailed" in error_of(run) and "Not found: Table orders" in error_of(run)


def test_an_aborted_query_is_cancelled_in_bigquery(plugins: Plugins, tasks):
    run, name = begin(plugins.bigquery, tasks.orders, least=1, country="IT")
    run.abort()
    eventually(lambda: name in plugins.bigquery.cancelled, what="the query is cancelled")


def test_bigquery_refuses_a_query(tasks):
    run = submitted(tasks.refused_orders, least=1, country="DE")
    assert ended(run) == "failed"
    assert "JobNotStarted" in error_of(run) and "Syntax error: refused" in error_of(run)


def test_a_statement_runs_in_snowflake(plugins: Plugins, tasks):
    run, name = begin(plugins.snowflake, tasks.sales, country="O'Hara")
    assert plugins.snowflake.jobs[name]["sql"] == "SELECT * FROM sales WHERE country = 'O\\'Hara'"
    plugins.snowflake.done(name)
    assert ended(run) == "succeeded", error_of(run)
    assert location(run) == f"snowflake://FLYTE/myorg-myaccount/SMALL/SALES/PUBLIC/{name}"
    assert links(run) == [f"https://app.snowflake.com/myorg/myaccount/#/compute/history/queries/{name}/detail"]


def test_a_statement_fails_in_snowflake(plugins: Plugins, tasks):
    run, name = begin(plugins.snowflake, tasks.sales, country="DE")
    plugins.snowflake.done(name, "FAILED_WITH_ERROR", errorCode="002003", errorMessage="Object SALES does not exist")
    assert ended(run) == "failed"
    assert "JobFailed" in error_of(run) and "Object SALES does not exist" in error_of(run)


def test_snowflake_refuses_a_statement(tasks):
    run = submitted(tasks.refused_sales, country="DE")
    assert ended(run) == "failed"
    assert "JobNotStarted" in error_of(run) and "SQL compilation error: refused" in error_of(run)


def test_an_aborted_statement_is_cancelled_in_snowflake(plugins: Plugins, tasks):
    run, name = begin(plugins.snowflake, tasks.sales, country="IT")
    run.abort()
    eventually(lambda: name in plugins.snowflake.cancelled, what="the statement is cancelled")


def test_the_example_that_snowflakes_plugin_publishes(plugins: Plugins, tasks):
    """The full example in the description of flyteplugins-snowflake, as it is published: only the address is that of the double.
    docs/testing.md says what the other released plugins publish."""
    description = importlib.metadata.metadata("flyteplugins-snowflake")
    text = description["Description"] or description.get_payload()
    (code,) = re.findall(r"^## Full example\n+```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    example: dict = {"__name__": "published"}
    exec(compile(code, "flyteplugins-snowflake", "exec"), example)  # noqa: S102
    example["config"].connection_kwargs = tasks.sales.plugin_config.connection_kwargs
    run, name = begin(plugins.snowflake, example["insert_task"], id=[123, 456], name=["Kevin", "Alice"], age=[30, 25])
    assert plugins.snowflake.jobs[name]["sql"] == "INSERT INTO FLYTE.PUBLIC.TEST (ID, NAME, AGE) VALUES (123, 'Kevin', 30), (456, 'Alice', 25)"
    plugins.snowflake.done(name)
    assert ended(run) == "succeeded", error_of(run)
    run, name = begin(plugins.snowflake, example["select_task"])
    assert plugins.snowflake.jobs[name]["sql"] == "SELECT * FROM FLYTE.PUBLIC.TEST"
    plugins.snowflake.done(name)
    assert ended(run) == "succeeded", error_of(run)
    assert location(run) == f"snowflake://KEVIN/PWGJLTH-XKB21544/COMPUTE_WH/FLYTE/PUBLIC/{name}"


def program(plugins: Plugins, name: str) -> subprocess.CompletedProcess:
    """What the cluster of Databricks does: the arguments of the job, with its variables, in a container of the image."""
    job = plugins.databricks.jobs[name]
    arguments = job["spark_python_task"]["parameters"]
    command = [str(pathlib.Path(sys.executable).parent / arguments[0]), *arguments[1:]]
    # The parts of Spark meet at the loopback address: a machine may not reach the one that its name has.
    # The store is a directory here; a bucket, which Databricks reaches, needs none to be made.
    here = {"SPARK_LOCAL_IP": "127.0.0.1", "FSSPEC_FILE": json.dumps({"auto_mkdir": True})}
    variables = {**os.environ, **here, **job["new_cluster"]["spark_env_vars"]}
    with tempfile.TemporaryDirectory() as folder:  # where the program unpacks its code
        return subprocess.run(command, env=variables, cwd=folder, capture_output=True, text=True, timeout=300)


def test_a_program_runs_in_databricks(plugins: Plugins, tasks):
    run, name = begin(plugins.databricks, tasks.double, n=21)
    job = plugins.databricks.jobs[name]
    assert job["new_cluster"]["spark_conf"] == {"spark.executor.memory": "4g"}
    assert not [word for word in job["spark_python_task"]["parameters"] if "{{" in word]
    did = program(plugins, name)
    assert did.returncode == 0, did.stdout + did.stderr
    plugins.databricks.done(name)
    assert ended(run) == "succeeded", error_of(run)
    assert run.outputs()[0] == 42
    assert links(run) == [f"https://127.0.0.1:{plugins.databricks.port}/#job/7/run/{name}"]


def test_a_program_fails_in_databricks(plugins: Plugins, tasks):
    run, name = begin(plugins.databricks, tasks.double, n=1)
    plugins.databricks.done(name, "FAILED", "Workload failed, see run output for details")
    assert ended(run) == "failed"
    assert "JobFailed" in error_of(run) and "Workload failed" in error_of(run)


def test_databricks_refuses_a_program(tasks):
    run = submitted(tasks.refused, n=1)
    assert ended(run) == "failed"
    assert "JobNotStarted" in error_of(run) and "no such node type" in error_of(run)


def test_an_aborted_program_is_cancelled_in_databricks(plugins: Plugins, tasks):
    run, name = begin(plugins.databricks, tasks.double, n=2)
    run.abort()
    eventually(lambda: name in plugins.databricks.cancelled, what="the job is cancelled")
