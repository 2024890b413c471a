"""Two tenants of one server with access control, and what is checked after each attack."""

from __future__ import annotations

import pytest

from server import Server
from tenants import ACTIONS, RUNS, Tenant, Victim
from test_access import Browser

# Limits are so small that an attack of seconds exceeds them.
SETTINGS = (
    "runs.writer.maxSubtree=100", "executor.reconciler.workers=2", "server.bodyTimeout=3s",
    "runs.webhooks.allow=192.0.2.0/24",  # and so not this machine, which demos otherwise allow
    "server.connectionsPerClient=300", "health.oldestWrite=1s", "runs.stored.projects=hoard bytes=1000000",
    "runs.stored.interval=1s", "runs.stored.nearInterval=1s",
    "triggers.maxPerMinute=4",
)


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory, home):
    folder = tmp_path_factory.mktemp("tenants")
    instance = Server(folder, "--access", *(word for setting in SETTINGS for word in ("--set", setting)))
    instance.start()
    yield instance
    instance.stop()


@pytest.fixture(scope="package")
def admin(server: Server) -> Browser:
    browser = Browser(server, "admin")
    browser.sign_in()
    return browser


@pytest.fixture(scope="package")
def victim(server: Server, admin: Browser, tmp_path_factory: pytest.TempPathFactory) -> Victim:
    return Victim(server, admin, "orchard", tmp_path_factory.mktemp("victim"))


@pytest.fixture(scope="package")
def attacker(server: Server, admin: Browser, victim: Victim, tmp_path_factory: pytest.TempPathFactory):
    tenant = Tenant(server, admin, "quarry")
    tenant.secrets = [victim.mark, victim.token, victim.key]
    folder = tmp_path_factory.mktemp("attacker")
    tenant.root = tenant.start(f"until [ -e {folder}/go ]; do sleep 0.2; done")  # a run of its own that goes on
    tenant.reaches(tenant.root, "RUNNING")
    yield tenant
    (folder / "go").touch()


@pytest.fixture(scope="package")
def sleeper(server: Server, admin: Browser, attacker: Tenant) -> tuple[Tenant, dict]:
    """A run of 20 s whose first action has no process, and children that never end by themselves; in another project of the attacker, so
    that retention leaves it."""
    tenant = Tenant(server, admin, "quarry-sleeps")
    run = tenant.run()
    tenant.done(f"{RUNS}/CreateRun", {"runId": run, "taskSpec": tenant.spec("", type="core-sleep"), "inputs": {"literals": [
        {"name": "duration", "value": {"scalar": {"primitive": {"duration": "20s"}}}}]}})
    tenant.reaches(run, "RUNNING")
    for name in ("one", "two"):
        tenant.done(f"{ACTIONS}/Enqueue", tenant.condition(run, name))
    return tenant, run


@pytest.fixture(autouse=True)
def afterwards(victim: Victim):
    yield
    victim.unharmed()
