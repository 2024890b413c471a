"""GPUs of one machine (docs/demo.md): a demo with a list of devices, or with doubles of the makers' tools. There is no card."""

import json
import os
import pathlib
import subprocess

import flyte
import pytest

from conftest import connect
from flows import gpus
from server import Server, eventually
from test_flows import phase_of, result

ID = "GPU-5f9c89f1-7d2a-4b57-9c07-0e5a3a6f4f21"

# What nvidia-smi of driver 550 prints on a machine with one H200.
SMI = f"""#!/bin/sh
case "$1" in
--query-gpu=index*) echo "0, {ID}, NVIDIA H200, 143771, Disabled" ;;
--query-gpu=uuid*) echo "{ID}, 87, 12288" ;;
*) echo "Option $1 is not recognized."; exit 2 ;;
esac
"""


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    """A PATH that begins with a double of nvidia-smi."""
    folder = tmp_path_factory.mktemp("tools")
    smi = folder / "nvidia-smi"
    smi.write_text(SMI)
    smi.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


@pytest.fixture(scope="module")
def machine(tmp_path_factory, home, tools):
    """A demo on a machine with one H200, as its tool says."""
    before, os.environ["PATH"] = os.environ["PATH"], tools
    instance = Server(tmp_path_factory.mktemp("gpus"))
    try:
        instance.start()
        yield instance
    finally:
        instance.stop()
        os.environ["PATH"] = before


@pytest.fixture(autouse=True)
def connected(machine):
    connect(machine)


def parts(machine: Server) -> dict[str, str]:
    _, answer = machine.call("flytebinary.insight.v1.SystemService/GetSystem", {})
    return {part["name"]: part.get("message", "") for part in answer["components"]}


def waits(machine: Server, handle) -> str:
    who = {"actionId": {"run": {"org": "flyte", "project": "flytesnacks", "domain": "development", "name": handle.name}, "name": "a0"}}
    return machine.call("flytebinary.insight.v1.InsightService/ExplainAction", who)[1].get("wait", {}).get("message", "")


def test_two_tasks_have_one_gpu_one_after_the_other(machine: Server, tmp_path: pathlib.Path):
    handles = [flyte.run(gpus.alone, str(tmp_path)) for _ in range(2)]
    for handle in handles:
        handle.wait(quiet=True)
    assert [phase_of(handle) for handle in handles] == ["succeeded", "succeeded"]
    assert [handle.outputs()[0] for handle in handles] == [ID, ID]


def test_a_gpu_by_name(machine: Server):
    assert result(gpus.by_name)[0] == ID


def test_a_task_that_does_not_ask_sees_no_gpu(machine: Server):
    assert result(gpus.without)[0] == ""


@pytest.mark.parametrize("task, words", [
    (gpus.too_many, "asks for 2 H200 and this machine has 1 NVIDIA H200, so it will never start"),
    (gpus.another_model, "asks for 1 nvidia-tesla-a100 and this machine has 1 NVIDIA H200"),
], ids=["too many", "another model"])
def test_what_never_fits_is_explained(machine: Server, task, words: str):
    handle = flyte.run(task)
    eventually(lambda: words in waits(machine, handle), what=words)
    handle.abort()


def test_who_has_which_gpu_is_shown(machine: Server):
    assert parts(machine)["gpu 0: NVIDIA H200"] == f"free, 87 % busy, 12.0 of 140.4 GiB in use, {ID}"


def test_a_worker_of_a_pool_has_the_gpu_of_its_environment(machine: Server):
    assert result(gpus.reused)[0] == ID
    assert " has it, " in parts(machine)["gpu 0: NVIDIA H200"], "the worker keeps it"
    assert result(gpus.reused)[0] == ID


def test_doctor_names_the_gpus(machine: Server, tmp_path: pathlib.Path):
    done = subprocess.run(
        [machine.command()[0], "doctor", "--set", "database.url=postgres://127.0.0.1:1/none", "--set", f"storage.url=file://{tmp_path}"],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
    )
    assert f"GPU 0 of this machine: NVIDIA H200, free, 87 % busy, 12.0 of 140.4 GiB in use, {ID}" in done.stdout, done.stdout


def test_a_list_of_gpus(tmp_path: pathlib.Path, home):
    listed = tmp_path / "gpus.json"
    listed.write_text(json.dumps([{"id": "GPU-listed", "model": "AMD Instinct MI300X", "maker": "amd"}]))
    instance = Server(tmp_path, "--gpus", str(listed))
    try:
        instance.start()
        connect(instance)
        assert "1 AMD Instinct MI300X" in instance.tail()
        assert result(gpus.rocm)[0] == "GPU-listed", "gpu=1 means the devices that there are"
        handle = flyte.run(gpus.too_many)
        eventually(lambda: "asks for 2 H200 and this machine has 1 AMD Instinct MI300X, so it will never start" in waits(instance, handle), what="the explanation")
        handle.abort()
    finally:
        instance.stop()
