"""Attacks by tasks on the processes that serve all tenants of a demo: warm parents, and workers of reusable environments."""

from __future__ import annotations

import pathlib

import pytest

from penetration import sdk
from server import Server, eventually
from tenants import RUNS, Tenant, Victim

# Packages of the demo's environment, which hold memory once they are imported.
PACKAGES = "numpy numpy.random PIL jsonschema opentelemetry"


@pytest.fixture(scope="module")
def deployed(attacker: Tenant, victim: Victim, tmp_path_factory: pytest.TempPathFactory) -> None:
    for tenant in (attacker, victim):
        sdk.deploy(tenant, tmp_path_factory.mktemp("deploys"), "flows/intruding.py")


@pytest.mark.usefixtures("deployed")
def test_second_01_no_one_pays_for_packages_of_others(server: Server, attacker: Tenant, victim: Victim):
    """The parent from which tasks are forked learns what tasks import. The victim's task is near its limit of memory, and imports nothing."""
    held = int(sdk.result(victim, sdk.start(victim, "intruding.holds", mebibytes=40)))
    limit = f"{held + 6}Mi"
    log = server.data / "logs" / "server.log"
    before = len(log.read_text(errors="replace"))
    for _ in range(3):
        assert sdk.result(attacker, sdk.start(attacker, "intruding.imports", names=PACKAGES))
    eventually(lambda: "has learned packages" in log.read_text(errors="replace")[before:], what="a parent that has learned the attacker's packages")
    for _ in range(3):
        assert int(sdk.result(victim, sdk.start(victim, "intruding.holds", limit, mebibytes=40))) >= 40
    over = sdk.start(victim, "intruding.holds", limit, mebibytes=400)
    assert victim.reaches(over, "FAILED")["errorInfo"]["code"] == "OOMKilled", "the limit holds"


@pytest.mark.usefixtures("deployed")
def test_second_07_no_one_reads_the_token_of_a_worker_of_others(server: Server, attacker: Tenant, victim: Victim, tmp_path: pathlib.Path):
    """With it, a task could take, fail or answer the victim's work. Both have a worker while the attacker looks for it."""
    tmp_path.chmod(0o777)
    working = sdk.start(victim, "intruding-pool.waits", folder=str(tmp_path))
    eventually((tmp_path / "started").exists, what="the victim's worker")
    try:
        workers, tokens = str(sdk.result(attacker, sdk.start(attacker, "intruding-pool.reads_tokens"))).split(" ", 1)
        assert int(workers) >= 2 and tokens == "[]"
    finally:
        (tmp_path / "go").touch()
    assert sdk.result(victim, working) == "done"
    attacker.refused(f"{RUNS}/GetActionData", {"actionId": {"run": working, "name": "a0"}}, "not_found")
