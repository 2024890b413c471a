"""Secrets through the released command line and the SDK, against an encrypted local store."""

from __future__ import annotations

import base64
import pathlib
import secrets

import flyte
import flyte.remote as remote
import pytest

from flows import secretive
from server import Server

PLACE = ["-p", "flytesnacks", "-d", "development"]
# Random, since this file is in the code bundle of the tasks.
WIDE, NARROW = f"wide-{secrets.token_hex(12)}", f"narrow-{secrets.token_hex(12)}"
MARK = b"\x00\xff" + secrets.token_bytes(24) + bytes(range(256))


pytestmark = pytest.mark.usefixtures("sdk")


def run(task, **inputs):
    handle = flyte.run(task, **inputs)
    handle.wait(quiet=True)
    return handle


def phase_of(handle) -> str:
    return str(remote.Run.get(handle.name).phase).rsplit(".", 1)[-1].lower()


def details(handle):
    return remote.RunDetails.get(handle.name).action_details


def test_a_life_of_secrets(server: Server, cli, tmp_path: pathlib.Path):
    binary = tmp_path / "binary"
    binary.write_bytes(MARK)
    shown = cli("create", "secret", "my-key", "--value", WIDE)
    shown += cli("create", "secret", "my-key", "--value", NARROW, *PLACE)
    shown += cli("create", "secret", "f1", "--from-file", str(binary), *PLACE)
    again = cli("create", "secret", "my-key", "--value", NARROW, *PLACE, check=False)
    assert "already exists" in again.lower()
    shown += cli("create", "secret", "registry", "--type", "image_pull", "--registry", "ghcr.io", "--username", "u", "--password", WIDE)
    shown += again + cli("get", "secret") + cli("get", "secret", "my-key", *PLACE)
    assert shown.count("my-key") >= 3 and "IMAGE_PULL" in shown

    handle = run(secretive.read)
    assert phase_of(handle) == "succeeded", details(handle).error_info
    assert tuple(handle.outputs()) == (NARROW, MARK.hex(), "")  # the outputs are the task's own doing, and have the values

    raw = run(secretive.raw)
    assert phase_of(raw) == "succeeded", details(raw).error_info
    assert raw.outputs()[0] == f"{NARROW} {len(MARK)}"

    # The next run gets another value; without the narrow secret, that of the wider scope.
    cli("delete", "secret", "my-key", *PLACE)
    assert run(secretive.read).outputs()[0] == WIDE

    missing = run(secretive.never)
    assert phase_of(missing) == "failed"
    error = str(details(missing).error_info)
    for words in ("no-such-key", "project flytesnacks in domain development", "domain development", "the organization"):
        assert words in error, error
    assert "USER" in error
    assert not (server.data / "node" / "work" / "flytesnacks" / "development" / missing.name).exists(), "a process was started"
    search(server, shown)


def search(server: Server, shown: str):
    """No value is in an answer, in a log or in any file of the server, except where the tasks themselves wrote it."""
    values = {"wide": WIDE.encode(), "narrow": NARROW.encode(), "binary": MARK}
    for name in list(values):
        values[name + " in base64"] = base64.b64encode(values[name])
    for name, value in values.items():
        assert value not in shown.encode("utf-8", "surrogateescape"), name
    read = 0
    for path, content in server.files():
        if path.parts[0] == "blobs":
            continue  # blobs are what tasks return
        read += 1
        for name, value in values.items():
            assert value not in content, f"{path} has the {name} value"
    assert read > 100
    content = server.log.read_bytes()
    for name, value in values.items():
        assert value not in content, name


def test_no_failure_tells_a_secret(server: Server, cli):
    """What cannot start, or fails, was expanded from a secret: its value is in no answer, in no file of the server but the log of
    the task itself, and in no log of the server."""
    value = f"told-{secrets.token_hex(12)}"
    cli("create", "secret", "told", "--value", value, *PLACE)
    words = {"command": '"$(RAW)"', "path": '"/bin/$(RAW)"', "search": "its PATH", "log": "got [secret told]"}
    for name, task in secretive.telling.items():
        handle = run(task)
        assert phase_of(handle) == "failed", name
        told = str(remote.RunDetails.get(handle.name).to_dict())
        assert value not in told, name
        assert words[name] in details(handle).error_info.message, name
    for path, content in server.files():
        own = path.parts[0] == "blobs" or path.parts[:2] == ("node", "pods") and path.name in ("log", "log.1")  # what a task prints is its own doing
        assert own or value.encode() not in content, path
    assert value.encode() not in server.log.read_bytes()


def test_answers(server: Server, cli):
    """What the console asks for has no value; a value that is too large is refused, and nothing of it is stored."""
    value = "dump-of-the-database-value"
    cli("create", "secret", "dumped", "--value", value, "-d", "development")
    status, answer = server.call("flyteidl2.secret.SecretService/ListSecrets", {"domain": "development"})
    assert status == 200 and "dumped" in str(answer) and value not in str(answer)
    status, answer = server.call("flyteidl2.secret.SecretService/CreateSecret", {
        "id": {"name": "large"}, "secret_spec": {"binary_value": base64.b64encode(bytes(2 << 20)).decode()}})
    assert status == 400 and answer["code"] == "invalid_argument" and "bytes" in answer["message"]
    status, answer = server.call("flyteidl2.secret.SecretService/GetSecret", {"id": {"name": "large"}})
    assert answer["code"] == "not_found"


def test_values_are_refused_to_clients(server: Server):
    status, answer = server.call("flytebinary.engine.v1.SecretValueService/GetSecretValues", {
        "project": "flytesnacks", "domain": "development", "names": ["dumped"]})
    assert status in (401, 403), answer
