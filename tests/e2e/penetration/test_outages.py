"""Parts of the server end or stop while both tenants work."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import pathlib
import re
import signal
import urllib.error
import urllib.request

from server import Server, eventually
from tenants import RUNS, Tenant, Victim


def test_12_a_server_that_was_killed_continues_for_both(server: Server, attacker: Tenant, victim: Victim):
    """A demo gave up when its parts took long to start. They have the actions of the attacker's storm to read."""
    runs = {tenant: tenant.run() for tenant in (attacker, victim)}
    for tenant, run in runs.items():
        tenant.done(f"{RUNS}/CreateRun", {"runId": run, "taskSpec": tenant.spec("true")})
    server.kill()
    server.start()
    for tenant, run in runs.items():
        tenant.reaches(run, "SUCCEEDED")
    status = attacker.details(attacker.root)["status"]
    assert (status["phase"], status["attempts"]) == ("ACTION_PHASE_RUNNING", 1), status


def test_13_readiness_tells_that_no_ones_changes_are_stored(server: Server, attacker: Tenant, victim: Victim):
    """Postgres stands still while both tenants start runs: readiness said ok. Afterwards the runs of both end."""
    postmaster = int((server.data / "postgres" / "data" / "postmaster.pid").read_text().split()[0])
    runs = {tenant: tenant.run() for tenant in (attacker, victim)}

    def create(tenant: Tenant) -> bool:
        """A run that is there in the end; a call whose change took too long is unavailable, and is tried again."""
        status, answer = tenant.call(f"{RUNS}/CreateRun", {"runId": runs[tenant], "taskSpec": tenant.spec("true")})
        assert status in (200, 409, 429, 503, 504), answer
        return status in (200, 409)

    def degraded() -> bool:
        try:
            with urllib.request.urlopen(f"{server.url}/readyz", timeout=60) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as error:
            text = error.read().decode()
        return not re.search(r"^writes: ok", text, re.M) or not re.search(r"^database: ok", text, re.M)

    assert not degraded()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        stopped = stop_all(postmaster)
        try:
            created = [pool.submit(eventually, lambda tenant=tenant: create(tenant), what=f"a run of {tenant.project}") for tenant in runs]
            eventually(degraded, what="readiness that tells it")
        finally:
            for pid in reversed(stopped):
                os.kill(pid, signal.SIGCONT)
        for one in created:
            one.result()
    eventually(lambda: not degraded(), what="readiness that tells the end of it")
    for tenant, run in runs.items():
        tenant.reaches(run, "SUCCEEDED")


def stop_all(parent: int) -> list[int]:
    """Stops a process and its children, which it cannot restart meanwhile."""
    os.kill(parent, signal.SIGSTOP)
    stopped = [parent]
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1]) == parent:
                    os.kill(int(entry.name), signal.SIGSTOP)
                    stopped.append(int(entry.name))
    return stopped
