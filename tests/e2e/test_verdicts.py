"""Who is to blame (docs/failures.md): what a program does to itself is its own failure, once."""

import pathlib

import flyte
import pytest

from flows import verdicts
from server import Server
from test_flows import phase_of

pytestmark = pytest.mark.usefixtures("sdk")

OWN = {
    "exit": "OutputsMissing",
    "_exit": "OutputsMissing",
    "huge": "ValueError",
    "kill": "Signalled",
    "terminate": "Signalled",
    "garbage": "ErrorUnreadable",
    "delete": "OutputsMissing",
}


@pytest.mark.parametrize("task", [verdicts.alone, verdicts.pooled], ids=["alone", "pooled"])
def test_what_a_program_does_to_itself_is_its_own_failure(server: Server, tmp_path: pathlib.Path, task):
    """Each of these ran four times, as a failure of the system."""
    runs = {how: flyte.run(task, how, str(tmp_path / how)) for how in OWN}
    found = {}
    for how, handle in runs.items():
        handle.wait(quiet=True)
        assert phase_of(handle) == "failed", how
        error = flyte.remote.RunDetails.get(handle.name).action_details.error_info
        found[how] = (error.code, error.kind, (tmp_path / how).read_text().count("\n"))
        assert len(error.message) < 20_000
    assert found == {how: (code, 1, 1) for how, code in OWN.items()}, "the code, the user's, one attempt"


def test_memory_of_a_reusable_environment_is_the_tasks_own(server: Server, tmp_path: pathlib.Path):
    """`except flyte.errors.OOMError` never ran: the attempt was lost with its worker, four times."""
    handle = flyte.run(verdicts.rescues, str(tmp_path / "ledger"))
    handle.wait(quiet=True)
    assert phase_of(handle) == "succeeded"
    said = handle.outputs()[0]
    assert said.startswith("OOMKilled") and "500Mi as its limit, and for 400Mi as its request" in said, said
    assert (tmp_path / "ledger").read_text() == "hog\n", "one attempt"


def test_a_task_finds_no_token_of_a_worker(server: Server):
    handle = flyte.run(verdicts.reads_tokens)
    handle.wait(quiet=True)
    assert phase_of(handle) == "succeeded"
    assert handle.outputs()[0] == []
