"""Raw containers through the unmodified SDK: commands without the SDK, between an inputs and an outputs directory."""

import datetime
import pathlib
import types

import flyte
import flyte.io
import flyte.remote as remote
import pytest

from flows import raw
from server import Server, alive, eventually

pytestmark = pytest.mark.usefixtures("sdk")


def run(task, **inputs):
    """Runs a task, waits until it is terminal, and returns the run."""
    handle = flyte.run(task, **inputs)
    handle.wait(quiet=True)
    return handle


def phase_of(handle) -> str:
    return str(remote.Run.get(handle.name).phase).rsplit(".", 1)[-1].lower()


def details(handle):
    return remote.RunDetails.get(handle.name).action_details


def result(task, **inputs):
    """The outputs of a task that must succeed."""
    handle = run(task, **inputs)
    if phase_of(handle) != "succeeded":
        pytest.fail(f"run {handle.name} ended {phase_of(handle)}: {details(handle).error_info}")
    return types.SimpleNamespace(**dict(zip(sorted(task.interface.outputs), handle.outputs())))


def failure(task, **inputs):
    """The details of a task that must fail."""
    handle = run(task, **inputs)
    assert phase_of(handle) == "failed"
    return details(handle)


def content(file: flyte.io.File) -> str:
    return pathlib.Path(file.path).read_text()


def test_scalars_in_and_out():
    when = datetime.datetime(2024, 2, 29, 12, 30, 15, tzinfo=datetime.timezone.utc)
    span = datetime.timedelta(days=1, seconds=90)
    got = result(raw.scalars, i=41, s="grüße", f=2.5, b=True, when=when, span=span)
    assert (got.i, got.s, got.f, got.b, got.when, got.span) == (42, "grüße!", 2.5, False, when, span)


def test_inputs_in_the_command():
    assert result(raw.templated, a=6, b=7).product == 42


def test_file_in_and_out(tmp_path: pathlib.Path):
    (tmp_path / "words.txt").write_text("some words\n")
    got = result(raw.upper, infile=flyte.io.File.from_local_sync(tmp_path / "words.txt"))
    assert content(got.outfile) == "SOME WORDS\n"


def test_files_keep_their_names_when_asked(tmp_path: pathlib.Path):
    (tmp_path / "reads.fastq").write_text("ACGT")
    got = result(raw.named, infile=flyte.io.File.from_local_sync(tmp_path / "reads.fastq"))
    assert got.name == "reads.fastq\n"


def test_directory_in_and_out(tmp_path: pathlib.Path):
    (tmp_path / "a.txt").write_text("a")
    got = result(raw.folders, folder=flyte.io.Dir.from_local_sync(str(tmp_path)))
    found = {str(p.relative_to(got.folder.path)): p.read_text() for p in pathlib.Path(got.folder.path).rglob("*.txt")}
    assert found == {"a.txt": "a", "deep/new.txt": "more\n"}


def test_lists_and_maps():
    got = result(raw.lists, words=["ab", "cd"])
    assert (got.joined, got.numbers, got.counts) == ("abcd", [1, 2, 10], {"one": 1})


def test_structures():
    got = result(raw.structs, point=raw.Point(3, 1.5)).point
    assert (got.x, got.y) == (3, 1.5)


def test_optional_values():
    got = result(raw.optional, maybe=None)
    assert (got.absent, got.present) == (None, "here\n")


def test_all_inputs_as_json_and_as_yaml():
    assert result(raw.as_json, n=5, l=[1, 2]).total == 8
    assert result(raw.as_yaml, count=5, l=[1, 2]).total == 2


def test_directories_of_their_own():
    assert result(raw.own_folders, x=7).x == 7
    assert not pathlib.Path("/srv/raw-out").exists()


def test_container_without_data():
    assert phase_of(run(raw.silent)) == "succeeded"


def test_container_between_tasks():
    handle = run(raw.parent, x=20)
    assert phase_of(handle) == "succeeded", details(handle).error_info
    assert handle.outputs()[0] == 41


def test_exit_code_fails_each_attempt():
    """Story R3: a raw container that exited with an error never failed its action; its pod was recreated forever."""
    got = failure(raw.exits)
    assert got.attempts == 2
    for attempt in got.pb2.attempts:
        assert "exit code 3" in attempt.error_info.message
        assert attempt.error_info.kind == 1  # KIND_USER
    assert "about to fail" in got.error_info.message


def test_missing_output_is_named():
    error = failure(raw.forgets).error_info
    assert 'output "x"' in error.message and "/var/outputs/x" in error.message and "integer" in error.message
    assert error.kind == 1


def test_malformed_output_is_named():
    message = failure(raw.babbles).error_info.message
    assert 'output "x"' in message and '"forty-two" is not an integer' in message


def test_command_that_this_machine_does_not_have():
    message = failure(raw.unknown).error_info.message
    assert "no-such-tool-anywhere" in message and "alpine:3.20" in message and "processes" in message


def test_log_is_that_of_the_container():
    handle = run(raw.scripted, x=1)
    notice, *words = [line.strip() for line in handle.get_logs()]
    assert words == ["words of the container"]
    assert notice.startswith("[local node]") and "alpine:3.20" in notice
    events = remote.RunDetails.get(handle.name).action_details.pb2.attempts[0].cluster_events
    assert [event.reason for event in events].count("ImageNotMapped") == 1


def test_abort_ends_the_container(tmp_path: pathlib.Path):
    marker = tmp_path / "pid"
    handle = flyte.with_runcontext(env_vars={"PID_FILE": str(marker)}).run(raw.sleeps)
    pid = int(eventually(lambda: marker.exists() and marker.read_text().strip(), what="the container's start"))
    remote.Run.get(handle.name).abort("enough")
    handle.wait(quiet=True)
    assert phase_of(handle) == "aborted"
    eventually(lambda: not alive(pid), what=f"the end of process {pid}")


def test_server_dies_while_a_container_runs(fragile: Server, tmp_path: pathlib.Path):
    """The container and its co-pilot go on without the server, and the outputs arrive once it is back."""
    started, go_on = tmp_path / "started", tmp_path / "go-on"
    handle = flyte.run(raw.waits, started=str(started), go_on=str(go_on))
    eventually(started.exists, what="the container's start")
    fragile.kill()
    go_on.touch()
    fragile.start()
    eventually(lambda: remote.Run.get(handle.name).done(), what="the end of the run")
    assert phase_of(handle) == "succeeded", details(handle).error_info
    assert details(handle).attempts == 1
    assert handle.outputs()[0] == 7
