"""Squares on a Spark cluster of the task's own. It needs the plugin spark and the Spark operator: docs/plugins.md.

    pip install flyteplugins-spark
    flyte --config ... run examples/operators/spark_job.py main --n 100
"""

import flyte
from flyteplugins.spark import Spark

env = flyte.TaskEnvironment(
    name="spark_job",
    resources=flyte.Resources(cpu=1, memory="2Gi"),
    plugin_config=Spark(
        spark_conf={
            "spark.executor.instances": "2",
            "spark.executor.cores": "1",
            "spark.executor.memory": "512m",
            "spark.driver.memory": "512m",
        },
    ),
)


@env.task
async def main(n: int = 10) -> int:
    spark = flyte.ctx().data["spark_session"].sparkContext
    return spark.parallelize(range(n), 2).map(lambda i: i * i).sum()
