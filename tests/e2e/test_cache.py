"""Cached tasks through the unmodified SDK: hits and misses, and that a root and a child share their entries."""

from __future__ import annotations

import pathlib
import urllib.parse
import uuid

import flyte
import flyte.remote as remote
import pytest
from flyteidl2.core import catalog_pb2

from flows import cached

pytestmark = pytest.mark.usefixtures("sdk")


def run(task, *args, context=None, **kwargs):
    handle = (context.run if context else flyte.run)(task, *args, **kwargs)
    handle.wait(quiet=True)
    return handle


def output(handle):
    phase = str(remote.Run.get(handle.name).phase)
    if "succeeded" not in phase.lower():
        pytest.fail(f"run {handle.name} ended {phase}: {remote.RunDetails.get(handle.name).action_details.error_info}")
    return handle.outputs()[0]


def status(handle, action="a0") -> str:
    details = remote.ActionDetails.get(run_name=handle.name, name=action)
    return catalog_pb2.CatalogCacheStatus.Name(details.pb2.status.cache_status)


def children(handle) -> list:
    return [a for a in remote.Action.listall(for_run_name=handle.name) if a.name != "a0"]


def child_statuses(handle) -> list[str]:
    return sorted(catalog_pb2.CatalogCacheStatus.Name(a.pb2.status.cache_status) for a in children(handle))


@pytest.fixture
def word() -> str:
    """An input that was never used before."""
    return uuid.uuid4().hex[:8]


def test_miss_then_hit(word):
    first = run(cached.stamp, word)
    assert status(first) == "CACHE_POPULATED"
    second = run(cached.stamp, word)
    assert output(second) == output(first)
    assert status(second) == "CACHE_HIT"
    attempt = remote.ActionDetails.get(run_name=second.name, name="a0").pb2.attempts[0]
    assert attempt.cache_metadata.source_action_attempt.action_id.run.name == first.name
    other = run(cached.stamp, word, 2)
    assert status(other) == "CACHE_POPULATED" and output(other) != output(first)


def test_root_then_child(word):
    root = run(cached.stamp, word)
    parent = run(cached.call_stamp, word)
    assert output(parent) == output(root)
    assert child_statuses(parent) == ["CACHE_HIT"]


def test_child_then_root(word):
    parent = run(cached.call_stamp, word)
    assert child_statuses(parent) == ["CACHE_POPULATED"]
    root = run(cached.stamp, word)
    assert status(root) == "CACHE_HIT"
    assert output(root) == output(parent)


def test_structured_inputs_in_any_order():
    x = uuid.uuid4().int % 1_000_000
    root = run(cached.shapes, cached.Point(x), {"a": 1.0, "b": 2.0}, {"a": [1, {"y": 2, "z": 1}], "k": 2})
    parent = run(cached.call_shapes, x)
    assert child_statuses(parent) == ["CACHE_HIT"]
    assert output(parent) == output(root)


def test_overwrite(word):
    first = output(run(cached.stamp, word))
    again = run(cached.stamp, word, context=flyte.with_runcontext(overwrite_cache=True))
    assert status(again) == "CACHE_POPULATED"
    assert output(again) != first
    assert output(run(cached.stamp, word)) == output(again)


def test_version_bump(word):
    first = output(run(cached.versioned, word))
    bumped = cached.versioned.override(cache=flyte.Cache("override", version_override="2"))
    second = run(bumped, word)
    assert status(second) == "CACHE_POPULATED" and output(second) != first
    assert output(run(cached.versioned, word)) == first


def test_ignored_inputs(word):
    first = run(cached.ignoring, word, "one")
    second = run(cached.ignoring, word, "two")
    assert status(second) == "CACHE_HIT"
    assert output(second) == output(first)


def test_no_outputs(word):
    assert status(run(cached.nothing, word)) == "CACHE_POPULATED"
    assert status(run(cached.nothing, word)) == "CACHE_HIT"


def test_serialized(word):
    handle = run(cached.call_slow, word, 3)
    assert len(set(output(handle))) == 1
    assert child_statuses(handle) == ["CACHE_HIT", "CACHE_HIT", "CACHE_POPULATED"]


def test_miss_when_the_cached_outputs_are_gone(word):
    first = run(cached.stamp, word)
    uri = remote.ActionDetails.get(run_name=first.name, name="a0").pb2.attempts[0].outputs.output_uri
    pathlib.Path(urllib.parse.urlparse(uri).path).unlink()
    second = run(cached.stamp, word)
    assert status(second) == "CACHE_POPULATED"
    assert status(run(cached.stamp, word)) == "CACHE_HIT"
