"""A project that has stored as much as it may gets no uploads and no runs, in plain words, until it has less."""

from __future__ import annotations

import pathlib

import flyte
import flyte.remote as remote
import pytest

from conftest import connect
from flows import basic
from server import Server, eventually

LIMIT = 50_000_000


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory):
    """A server with a limit of stored bytes that measures every second near it, and every ten seconds elsewhere."""
    instance = Server(
        tmp_path_factory.mktemp("stored"),
        "--set", f"runs.stored.projectBytes={LIMIT}", "--set", "runs.stored.interval=10s", "--set", "runs.stored.nearInterval=1s",
    )
    instance.start()
    connect(instance)
    yield instance
    instance.stop()


def stored(server: Server) -> dict:
    status, answer = server.call("flytebinary.access.v1.AccessService/GetLimits", {"project": "flytesnacks"})
    assert status == 200, answer
    return next(limit for limit in answer["limits"] if limit["things"] == "stored bytes")


def test_a_full_project_is_refused_until_it_has_less(limited: Server, tmp_path: pathlib.Path):
    file = tmp_path / "data.txt"
    file.write_text("one")
    remote.upload_file(file)
    run = flyte.run(basic.hello, "you")
    run.wait(quiet=True)

    written = limited.data / "blobs" / "flytesnacks" / "development" / "checkpoints" / "model.bin"  # as a task writes it
    written.parent.mkdir(parents=True)
    written.write_bytes(bytes(LIMIT))
    limit = eventually(lambda: int(stored(limited).get("used", 0)) > LIMIT and stored(limited), what="a measurement")
    assert limit["most"] == str(LIMIT) and limit["setting"] == "runs.stored.projectBytes" and limit["measuredAt"]

    file = tmp_path / "more.txt"  # the SDK keeps the digest of a file by its name
    file.write_text("two")
    for action in (lambda: remote.upload_file(file), lambda: flyte.run(basic.hello, "more")):
        with pytest.raises(Exception) as refused:
            action()
        words = str(refused.value)
        for part in ("project flytesnacks has 5", "bytes in the object store, measured at", f"may have {LIMIT}", "delete data of the project"):
            assert part in words, words

    written.unlink()

    def uploaded() -> bool:
        try:
            return bool(remote.upload_file(file))
        except Exception as e:  # noqa: BLE001: the SDK has errors of several types
            assert "in the object store" in str(e), e
            return False

    eventually(uploaded, what="an upload after the next measurement")
    run = flyte.run(basic.hello, "again")
    run.wait(quiet=True)
    assert "again" in run.outputs()[0]
