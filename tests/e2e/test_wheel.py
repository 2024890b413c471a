"""The wheel, as people install it: into a fresh environment of a user other than root, with an empty home directory and no
Postgres but its own. The wheel is made from the demo program that is there, or taken from the directory FLYTE_RELEASE_DIST, as
`make release` leaves it; only then is it also run by uvx, which a run of every test would have to download."""

from __future__ import annotations

import base64
import hashlib
import os
import pathlib
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator

import pytest

from server import BINARY

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIST = os.environ.get("FLYTE_RELEASE_DIST")
SDK = next(line for line in (ROOT / "examples" / "requirements.txt").read_text().splitlines() if line.startswith("flyte=="))
# Root installs, and the user no one runs.
USER = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
START_LIMIT = 300  # seconds


@pytest.fixture(scope="module")
def place() -> Iterator[pathlib.Path]:
    """A directory that every user may enter."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="flyte-wheel-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def wheel(place: pathlib.Path) -> pathlib.Path:
    if DIST:
        system = "macosx" if sys.platform == "darwin" else "manylinux"
        machine = {"arm64": "arm64" if system == "macosx" else "aarch64", "aarch64": "aarch64"}.get(platform.machine(), "x86_64")
        (found,) = pathlib.Path(DIST).glob(f"*-{system}_*_{machine}.whl")
        return pathlib.Path(shutil.copy(found, place))
    goos, goarch = (subprocess.check_output(["go", "env", name], cwd=ROOT, text=True).strip() for name in ("GOOS", "GOARCH"))
    subprocess.run(
        ["go", "run", "./release", "-wheel-only", "-store", "-version", "v0.0.1-rc.1", "-program", BINARY, "-platform", f"{goos}/{goarch}", "-out", place],
        cwd=ROOT, check=True,
    )
    (made,) = place.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def environment(place: pathlib.Path, wheel: pathlib.Path) -> pathlib.Path:
    """A virtual environment with the wheel and the SDK, from a Python that every user may run."""
    pythons = [pathlib.Path(sys._base_executable), pathlib.Path("/usr/bin/python3"), pathlib.Path("/usr/local/bin/python3")]
    usable = [python for python in pythons if runs(python)]
    if not usable:
        pytest.skip(f"the user who runs the demo can run none of {', '.join(map(str, pythons))}")
    target = place / "environment"
    subprocess.run([usable[0], "-m", "venv", "--without-pip", target], check=True)
    python = target / "bin" / "python"
    uv = pathlib.Path(sys.executable).parent / "uv"
    subprocess.run([uv, "pip", "install", "--quiet", "--link-mode", "copy", "--python", python, SDK], check=True)  # quicker than pip
    subprocess.run([sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile", wheel], check=True)
    return target


def runs(python: pathlib.Path) -> bool:
    try:
        return subprocess.run([python, "-c", ""], cwd="/", capture_output=True, **USER).returncode == 0
    except OSError:  # a directory on the way is closed
        return False


class Demo:
    """flyte-binary demo, of a user with nothing but a home directory."""

    def __init__(self, place: pathlib.Path, name: str, *command: str):
        self.home = place / name
        self.home.mkdir()
        if USER:
            shutil.chown(self.home, USER["user"], USER["group"])
        self.command = [*command, "demo", "--listen", "127.0.0.1:0", "--postgres", "bundled"]
        self.env = {"HOME": str(self.home), "PATH": "/usr/bin:/bin", "FLYTE_DISABLE_SENTRY": "1", "LANG": "C.UTF-8"} | {
            # How this machine reaches package indexes.
            name: value for name, value in os.environ.items() if name.lower().endswith("_proxy") or name.startswith(("SSL_CERT", "UV_", "PIP_"))
        }
        self.output = ""

    def __enter__(self) -> Demo:
        log = self.home.parent / f"{self.home.name}.log"
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                self.command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, cwd=self.home, env=self.env, start_new_session=True, **USER,
            )
        deadline = time.monotonic() + START_LIMIT
        while "Ready in " not in (output := log.read_text()):
            assert self.process.poll() is None, output
            if time.monotonic() > deadline:
                self.__exit__()
                pytest.fail(f"not ready:\n{output}")
            time.sleep(0.05)
        self.output = output
        return self

    def __exit__(self, *_: object) -> None:
        os.killpg(self.process.pid, signal.SIGINT)
        self.process.wait(timeout=60)

    def flyte(self, program: pathlib.Path, *args: str) -> str:
        config = re.search(r"flyte --config (\S+)", self.output).group(1)
        done = subprocess.run(
            [program, "--config", config, *args], cwd=self.home, env=self.env, capture_output=True, text=True, **USER,
        )
        assert done.returncode in (0, -signal.SIGABRT), done.stdout + done.stderr  # see conftest.ABORTED_AT_EXIT
        return done.stdout


def run_a_task(demo: Demo, program: pathlib.Path) -> str:
    """Runs a task whose inputs and outputs are checked, and returns the name of the run."""
    shutil.copy(ROOT / "examples" / "hello.py", demo.home)
    said = demo.flyte(program, "run", "--follow", "hello.py", "main", "--name", "wheel")
    assert "Hello, wheel!" in said
    return re.search(r"/runs/(\w+)", said).group(1)


def test_the_wheel_is_what_its_record_says(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (record,) = (name for name in names if name.endswith(".dist-info/RECORD"))
        info = record.removesuffix("RECORD")
        lines = [line.rsplit(",", 2) for line in archive.read(record).decode().splitlines()]
        assert sorted(name for name, _, _ in lines) == sorted(names)
        for name, digest, size in lines:
            content = archive.read(name)
            if name != record:
                assert digest == "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode(), name
                assert int(size) == len(content)
        metadata = archive.read(info + "METADATA").decode()
        for file in re.findall(r"^License-File: (.*)$", metadata, re.M):
            assert f"{info}licenses/{file}" in names
        assert "PostgreSQL Global Development Group" in archive.read(info + "licenses/THIRD_PARTY_LICENSES.txt").decode()


def test_pip_installs_it_and_a_user_without_anything_runs_a_task(place, environment):
    pip = [sys.executable, "-m", "pip", "--python", environment / "bin" / "python"]
    assert "No broken requirements" in subprocess.check_output([*pip, "check"], text=True)
    shown = subprocess.check_output([*pip, "show", "--files", "flyte-binary"], text=True)
    assert "bin/flyte-binary" in shown

    demo = Demo(place, "pip", str(environment / "bin" / "flyte-binary"))
    with demo:
        assert f"tasks in {environment} (where this program is installed)" in demo.output
        assert re.search(r"postgres .* its own 18\.", demo.output)
        name = run_a_task(demo, environment / "bin" / "flyte")
    with demo:
        assert name in demo.flyte(environment / "bin" / "flyte", "get", "run")


@pytest.mark.skipif(not DIST, reason="uvx would be downloaded; `make release-test` does it")
@pytest.mark.parametrize("extra", [[], ["--with", SDK]])
def test_uvx(place, wheel, extra):
    """The quick start: one command. It includes the environment for tasks."""
    tools = place / "tools"
    if not tools.exists():
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--target", tools, "uv==0.13.9"], check=True)
    began = time.monotonic()
    with Demo(place, "uvx-with" if extra else "uvx", str(tools / "bin" / "uvx"), *extra, "--from", str(wheel), "flyte-binary") as demo:
        print(f"uvx {' '.join(extra)}: ready {time.monotonic() - began:.1f} s after the command")
        found = re.search(r"tasks in (\S+) \((.*)\)", demo.output)
        assert found.group(2) == ("where this program is installed" if extra else "the demo's own")
        run_a_task(demo, pathlib.Path(found.group(1)) / "bin" / "flyte")
