"""The flyte command line, as a user types it."""

import datetime
import json
import pathlib
import re
import time
import uuid

import flyte
import flyte.remote as remote
import pytest

from conftest import command_line, connect
from flows import basic, context, failing
from server import Server, alive, eventually

pytestmark = pytest.mark.usefixtures("sdk")


@pytest.fixture
def cli(server: Server, tmp_path: pathlib.Path):
    """The command itself, each time in a process of its own. Other files use the warm one."""
    return command_line(server, tmp_path)


@pytest.fixture(scope="module")
def finished(server):
    """A finished run with labels."""
    connect(server)
    handle = flyte.with_runcontext(labels={"team": "blue"}, name="l" + uuid.uuid4().hex[:10]).run(basic.gathered, 2)
    handle.wait(quiet=True)
    return handle


def test_run_and_follow(cli):
    out = cli("run", "--follow", "flows/basic.py", "hello", "--name", "cli")
    assert "greeting cli" in out
    assert "/v2/domain/development/project/flytesnacks/runs/" in out


def test_get_run(cli, finished):
    assert finished.name in cli("get", "run")
    assert finished.name in cli("get", "run", finished.name)


def test_get_action(cli, finished):
    out = cli("get", "action", finished.name)
    assert out.count(finished.name) >= 3
    assert "a0" in cli("get", "action", finished.name, "a0")


def test_get_io(cli, finished):
    out = cli("get", "io", finished.name)
    assert "11" in out and "10" in out


def test_get_logs_of_a_finished_run(cli, finished):
    handle = flyte.run(context.prints, 50)
    handle.wait(quiet=True)
    out = cli("get", "logs", handle.name, "--raw") if "--raw" in cli("get", "logs", "--help") else cli("get", "logs", handle.name)
    lines = re.findall(r"line (\d{5})", out)
    assert lines == [f"{i:05d}" for i in range(50)]


def test_get_project(cli):
    assert "flytesnacks" in cli("get", "project")
    assert "flytesnacks" in cli("get", "project", "flytesnacks")


def test_deploy_get_task_and_run_deployed(cli):
    version = uuid.uuid4().hex[:10]
    cli("deploy", "--version", version, "flows/basic.py", "env")
    assert "basic.add" in cli("get", "task")
    assert version in cli("get", "task", "basic.add")
    out = cli("run", "--follow", "deployed-task", "basic.hello", "--name", "deployed")
    assert "runs/" in out


def test_abort(cli, tmp_path: pathlib.Path):
    handle = flyte.run(failing.sleeper, str(tmp_path / "pid"))
    eventually(lambda: (tmp_path / "pid.child").exists(), what="the sleeper")
    cli("abort", "run", handle.name)
    eventually(lambda: "abort" in str(remote.Run.get(handle.name).phase).lower(), what="the abort")
    pid = int((tmp_path / "pid").read_text())
    eventually(lambda: not alive(pid), what="the end of the process")


def test_filters(cli, finished):
    failed = flyte.run(failing.boom, "on purpose")
    failed.wait(quiet=True)
    yesterday = (datetime.datetime.now() - datetime.timedelta(days=1)).strftime("%Y-%m-%d")
    tomorrow = (datetime.datetime.now() + datetime.timedelta(days=2)).strftime("%Y-%m-%d")

    def names(*flags: str) -> str:
        return cli("get", "run", *flags)

    assert failed.name in names("--in-phase", "failed")
    assert finished.name not in names("--in-phase", "failed")
    both = {run.name for run in remote.Run.listall(in_phase=("failed", "succeeded"))}
    assert {failed.name, finished.name} <= both
    assert finished.name in names("--with-label", "team=blue")
    assert failed.name not in names("--with-label", "team=blue")
    assert finished.name in names("--with-label-key", "team")
    assert finished.name in names("--task-name", "basic.gathered")
    assert finished.name not in names("--task-name", "basic.nothing")
    assert finished.name in names("--created-after", yesterday)
    assert finished.name not in names("--created-after", tomorrow)
    names("--only-mine")  # must work for any caller


def test_actions_filtered_by_phase(finished):
    found = list(remote.Action.listall(for_run_name=finished.name, in_phase=("succeeded",)))
    assert len(found) == 3
    assert list(remote.Action.listall(for_run_name=finished.name, in_phase=("recovered",))) == []


def test_whoami(cli):
    cli("whoami")
