"""Tasks of the released plugins for BigQuery, Snowflake and Databricks. The clouds are doubles: their addresses come from the test."""

from __future__ import annotations

import os

import flyte
from flyte.io import DataFrame
from flyteplugins.bigquery import BigQueryConfig, BigQueryTask
from flyteplugins.databricks import Databricks
from flyteplugins.snowflake import Snowflake, SnowflakeConfig


def query(name: str, statement: str) -> BigQueryTask:
    return BigQueryTask(
        name=name, query_template=statement, inputs={"least": int, "country": str}, output_dataframe_type=DataFrame,
        plugin_config=BigQueryConfig(ProjectID="warehouse", Location="EU"), google_application_credentials="bigquery-account",
    )


orders = query("orders", "SELECT * FROM shop.orders\n WHERE total > @least AND '{{.inputs.country}}' = country")
refused_orders = query("refused_orders", "SELECT refused @least @country")


def statement(name: str, text: str, outputs: bool = True) -> Snowflake:
    # The port is text: the plugin passes numbers on as JSON has them, with a decimal point.
    edge = {"host": "127.0.0.1", "port": os.environ.get("SNOWFLAKE_PORT", "1"), "protocol": "http"}
    return Snowflake(
        name=name, query_template=text, inputs={"country": str}, output_dataframe_type=DataFrame if outputs else None,
        plugin_config=SnowflakeConfig("myorg-myaccount", "SALES", "PUBLIC", "SMALL", "FLYTE", connection_kwargs=edge),
        snowflake_private_key="snowflake-key",
    )


sales = statement("sales", "SELECT * FROM sales WHERE country = %(country)s")
refused_sales = statement("refused_sales", "SELECT refused %(country)s")

snowflake_env = flyte.TaskEnvironment.from_task("statements", orders, refused_orders, sales, refused_sales)


def spark(run_name: str) -> Databricks:
    return Databricks(
        spark_conf={"spark.executor.memory": "4g"}, databricks_token="databricks-token",
        databricks_instance=f"127.0.0.1:{os.environ.get('DATABRICKS_PORT', '1')}",
        databricks_conf={"run_name": run_name, "new_cluster": {"spark_version": "13.3.x-scala2.12", "node_type_id": "i3.xlarge", "num_workers": 2}},
    )


notebook_env = flyte.TaskEnvironment("notebooks", plugin_config=spark("nightly"))
refused_env = flyte.TaskEnvironment("refused_notebooks", plugin_config=spark("refused"))


@notebook_env.task
def double(n: int) -> int:
    return 2 * n


@refused_env.task
def refused(n: int) -> int:
    return n
