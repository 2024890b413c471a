"""What a container of a Spark image starts: the driver or an executor, as the arguments say that Spark gives it. The demo's node runs
processes and has no such image. The first argument is a file with the address of the API server and what proves the driver's rights, which
a cluster would mount as its service account."""

from __future__ import annotations

import json
import os
import pathlib
import re
import sys

import pyspark

HOME = pathlib.Path(pyspark.__file__).parent


def driver(account: dict[str, str], words: list[str]) -> list[str]:
    """Executors find the driver by its address: the name of its service is known after its pod has started."""
    address = os.environ["SPARK_DRIVER_BIND_ADDRESS"]
    configuration = {
        "spark.driver.bindAddress": address, "spark.driver.host": address, "spark.kubernetes.driver.master": account["server"],
        "spark.kubernetes.authenticate.driver.mounted.caCertFile": account["authority"],
        "spark.kubernetes.authenticate.driver.mounted.oauthTokenFile": account["token"],
    }
    flags = [word for name, value in configuration.items() for word in ("--conf", f"{name}={value}")]
    return [str(HOME / "bin" / "spark-submit"), *flags, "--deploy-mode", "client", *words]


def executor() -> list[str]:
    found = os.environ
    options = sorted((int(m[1]), value) for name, value in found.items() if (m := re.fullmatch(r"SPARK_JAVA_OPT_(\d+)", name)))
    memory = found["SPARK_EXECUTOR_MEMORY"]
    return [
        "java", *(value for _, value in options), f"-Xms{memory}", f"-Xmx{memory}", "-cp", f"{HOME}/jars/*",
        "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend", "--driver-url", found["SPARK_DRIVER_URL"],
        "--executor-id", found["SPARK_EXECUTOR_ID"], "--cores", found["SPARK_EXECUTOR_CORES"], "--app-id", found["SPARK_APPLICATION_ID"],
        "--hostname", found["SPARK_EXECUTOR_POD_IP"], "--resourceProfileId", found["SPARK_RESOURCE_PROFILE_ID"],
        "--podName", found["SPARK_EXECUTOR_POD_NAME"],
    ]


def main(account: str, role: str, *words: str) -> None:
    os.environ["SPARK_HOME"] = str(HOME)
    command = {"driver": lambda: driver(json.loads(pathlib.Path(account).read_text()), list(words)), "executor": executor}[role]()
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
