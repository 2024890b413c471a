"""Secrets through the released command line and the SDK, against an encrypted local store."""

from __future__ import annotations

import base64
import os
import pathlib
import subprocess

import flyte
import flyte.remote as remote
import pytest

from conftest import command_line, connect
from flows import secretive
from server import Server, eventually

PLACE = ["-p", "flytesnacks", "-d", "development"]
WIDE, NARROW = "wide-correct-horse", "narrow-battery-staple"
EVERY_BYTE = bytes(range(256))
# Long enough to be found by a search, and in no text by accident.
MARK = b"\x00\xffmark-of-the-binary-secret\xfe" + EVERY_BYTE


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory):
    """A server of its own: its files are searched for values."""
    instance = Server(tmp_path_factory.mktemp("secrets"))
    instance.start()
    connect(instance)
    yield instance
    instance.stop()


@pytest.fixture(scope="module")
def flyte_cli(own: Server, tmp_path_factory: pytest.TempPathFactory):
    return command_line(own, tmp_path_factory.mktemp("cli"))


def run(task, **inputs):
    handle = flyte.run(task, **inputs)
    handle.wait(quiet=True)
    return handle


def details(handle):
    return remote.RunDetails.get(handle.name).action_details


def test_a_life_of_secrets(own: Server, flyte_cli, tmp_path: pathlib.Path):
    connect(own)
    binary = tmp_path / "binary"
    binary.write_bytes(MARK)
    shown = flyte_cli("create", "secret", "my-key", "--value", WIDE)
    shown += flyte_cli("create", "secret", "my-key", "--value", NARROW, *PLACE)
    shown += flyte_cli("create", "secret", "f1", "--from-file", str(binary), *PLACE)
    again = flyte_cli("create", "secret", "my-key", "--value", NARROW, *PLACE, check=False)
    assert "already exists" in again.lower()
    shown += again + flyte_cli("get", "secret") + flyte_cli("get", "secret", "my-key", *PLACE)
    assert shown.count("my-key") >= 3

    handle = run(secretive.read)
    assert handle.phase == "succeeded", details(handle)
    assert handle.outputs()[:3] == (NARROW, MARK, "")  # the outputs are the task's own doing, and have the values

    raw = run(secretive.raw)
    assert raw.phase == "succeeded", details(raw)

    # The next run gets another value; without the narrow secret, that of the wider scope.
    flyte_cli("delete", "secret", "my-key", *PLACE)
    second = run(secretive.read)
    assert second.outputs()[0] == WIDE

    missing = run(secretive.never)
    assert missing.phase == "failed"
    error = str(details(missing).error_info)
    for words in ("no-such-key", "project flytesnacks in domain development", "domain development", "the organization"):
        assert words in error, error
    assert "USER" in error
    attempts = missing.action.pb2 if hasattr(missing, "action") else missing
    assert "has started" not in str(attempts)
    search(own, shown)


def search(own: Server, shown: str):
    """No value is in an answer, in a log or in any file of the server, except where the tasks themselves wrote it."""
    values = {"wide": WIDE.encode(), "narrow": NARROW.encode(), "binary": MARK}
    for name in list(values):
        values[name + " in base64"] = base64.b64encode(values[name])
    for name, value in values.items():
        assert value not in shown.encode("utf-8", "surrogateescape"), name
    read = 0
    for path in own.data.rglob("*"):
        relative = path.relative_to(own.data).parts
        if relative[0] == "blobs" or not path.is_file() or path.is_symlink():
            continue  # blobs are what tasks return
        try:
            content = path.read_bytes()
        except OSError:
            continue  # files of a running server come and go
        read += 1
        for name, value in values.items():
            assert value not in content, f"{path} has the {name} value"
    assert read > 100
    content = own.log.read_bytes()
    for name, value in values.items():
        assert value not in content, name


def test_database_and_answers(own: Server, flyte_cli):
    """A dump of the database, and what the console asks for, have no value."""
    value = "dump-of-the-database-value"
    flyte_cli("create", "secret", "dumped", "--value", value, "-d", "development")
    status, answer = own.call("flyteidl2.secret.SecretService/ListSecrets", {"domain": "development"})
    assert status == 200 and "dumped" in str(answer) and value not in str(answer)
    status, answer = own.call("flyteidl2.secret.SecretService/CreateSecret", {
        "id": {"name": "large"}, "secret_spec": {"binary_value": base64.b64encode(bytes(2 << 20)).decode()}})
    assert status == 400 and answer["code"] == "invalid_argument" and "bytes" in answer["message"]
    status, answer = own.call("flyteidl2.secret.SecretService/GetSecret", {"id": {"name": "large"}})
    assert answer["code"] == "not_found"
    status, answer = own.call("flytebinary.engine.v1.SecretValueService/GetSecretValues", {
        "project": "flytesnacks", "domain": "development", "names": ["dumped"]})
    assert status in (401, 403), answer
