"""Raw containers through the unmodified SDK: commands that know nothing of this system, between two directories."""

import flyte
import flyte.remote as remote
import pytest

from flows import raw

pytestmark = pytest.mark.usefixtures("sdk")


def run(task, *args, **kwargs):
    """Runs a task to its end and returns the run."""
    handle = flyte.run(task, *args, **kwargs)
    handle.wait(quiet=True)
    return handle


def details(handle):
    return remote.RunDetails.get(handle.name).action_details


def result(task, *args, **kwargs):
    """The outputs of a task that must succeed."""
    handle = run(task, *args, **kwargs)
    if "succeeded" not in str(remote.Run.get(handle.name).phase).lower():
        pytest.fail(f"run {handle.name}: {details(handle).error_info}")
    return handle.outputs()


def failure(task, *args, **kwargs):
    """The details of a task that must fail."""
    handle = run(task, *args, **kwargs)
    assert "failed" in str(remote.Run.get(handle.name).phase).lower()
    return details(handle)


def test_scalars_in_and_out():
    got = result(raw.scalars, i=41, s="grüße", f=2.5, b=True)
    assert (got.i, got.s, got.f, got.b) == (42, "grüße!", 2.5, False)


def test_inputs_in_the_command():
    assert result(raw.templated, a=6, b=7)[0] == 42
