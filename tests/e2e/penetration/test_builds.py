"""Attacks by image builds on the images of others, and by other users of the machine on all builds."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import uuid

import pytest

from penetration import sdk
from server import Server
from tenants import Tenant, Victim


@pytest.fixture(scope="module")
def built(victim: Victim, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The victim has an image with a package."""
    sdk.deploy(victim, tmp_path_factory.mktemp("builds"), "flows/packaged.py", "humane")


@pytest.mark.usefixtures("built")
def test_second_05_a_command_of_a_build_changes_nothing_of_others(
    server: Server, attacker: Tenant, victim: Victim, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch,
):
    """It knows where the packages of all images are, and has what root has on this machine but for the fence."""
    mark, environments = uuid.uuid4().hex, server.data / "environments"
    outside = pathlib.Path("/etc") / mark
    poison = f"for file in $(find {environments} -path '*humanize*' -name '*.py'); do echo '# {mark}' >> $file; done"
    monkeypatch.setenv("BREAKING_OUT", json.dumps([f"{{ {command}; }} || true" for command in (
        poison, f"mount -o remount,rw / && {poison}", f"touch {outside}", f"mount -o remount,rw / && touch {outside}",
        f"nsenter -t 1 -m touch {outside}", f"touch /proc/1/root{outside}", f"echo {mark} > {server.data}/blobs/{victim.project}/{mark}")]))
    sdk.deploy(attacker, tmp_path, "flows/breaking_out.py")
    assert sdk.result(attacker, sdk.start(attacker, "breaking-out.works")) == "works"
    assert not outside.exists()
    assert not (server.data / "blobs" / victim.project / mark).exists()
    packages = [path for path in environments.rglob("*.py") if "humanize" in path.parts]
    assert packages
    assert [str(path) for path in packages if mark in path.read_text()] == []
    assert sdk.result(victim, sdk.start(victim, "humane.number")) == "hello 4.9.0 1,234,567"


@pytest.mark.usefixtures("built")
def test_second_09_another_user_of_the_machine_stops_no_build(server: Server):
    """One who held the lock of the installer's cache stopped all builds, and could read what is installed."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("only root on Linux can be another user")
    locks = list((server.data / "environments" / "cache").rglob(".lock"))
    assert locks, "the installer has made its lock"
    nobody = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
    for command in (("flock", "-n", str(locks[0]), "true"), ("ls", str(server.data / "environments" / "cache")), ("cat", str(locks[0]))):
        done = subprocess.run([*nobody, *command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
        assert done.returncode != 0 and "Permission denied" in done.stdout, (command, done.stdout)
