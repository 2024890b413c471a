"""Images without containers: what a task's image installs becomes an environment of the demo (docs/images.md)."""

from __future__ import annotations

import base64
import concurrent.futures
import contextlib
import functools
import http.server
import io
import os
import pathlib
import re
import secrets
import signal
import subprocess
import sys
import textwrap
import threading
import zipfile

import flyte
import flyte.errors
import flyte.remote as remote
import pytest

from conftest import command_line, connect
from server import Server, eventually, processes_naming

TOKEN = f"token-{secrets.token_hex(12)}"


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory):
    """A server of its own: its files are searched for values."""
    instance = Server(tmp_path_factory.mktemp("images"))
    instance.start()
    connect(instance)
    yield instance
    instance.stop()


@pytest.fixture(scope="module")
def flyte_cli(own: Server, tmp_path_factory: pytest.TempPathFactory):
    return command_line(own, tmp_path_factory.mktemp("cli"))


@functools.cache  # its bytes have the time in them, and locks have its digest
def wheel() -> bytes:
    """A package with one module."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("private_package.py", "WORD = 'from the private index'\n")
        info = "private_package-1.0.dist-info"
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: private-package\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return content.getvalue()


class Index(http.server.BaseHTTPRequestHandler):
    """An index that has one package and asks for a password."""

    FILE = "private_package-1.0-py3-none-any.whl"
    asked, answer = threading.Event(), threading.Event()
    answer.set()

    def do_HEAD(self) -> None:
        self.do_GET()

    @staticmethod
    def wanted() -> str:
        return "Basic " + base64.b64encode(f"me:{TOKEN}".encode()).decode()

    def do_GET(self) -> None:
        if self.headers.get("Authorization") != self.wanted():
            self.reply(401, b"", ("WWW-Authenticate", "Basic"))
        elif self.path == "/simple/private-package/":
            self.asked.set()
            self.answer.wait()
            self.reply(200, f'<a href="/{self.FILE}">{self.FILE}</a>'.encode(), ("Content-Type", "text/html"))
        elif self.path == f"/{self.FILE}":
            self.reply(200, wheel())
        else:
            self.reply(404, b"")

    def reply(self, status: int, body: bytes, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in (*headers, ("Content-Length", str(len(body)))):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class OpenIndex(Index):
    """An index that asks for none."""

    def parse_request(self) -> bool:
        parsed = super().parse_request()
        self.headers["Authorization"] = Index.wanted()
        return parsed


@contextlib.contextmanager
def index_of(handler: type[Index]):
    """Runs an index, and yields its port."""
    index = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=index.serve_forever, daemon=True).start()
    try:
        yield index.server_port
    finally:
        index.shutdown()


@pytest.fixture(scope="module")
def flows(own: Server):
    """The flows, which name an index that runs."""
    with index_of(Index) as port:
        os.environ["PRIVATE_INDEX"] = f"http://me:$INDEX_TOKEN@127.0.0.1:{port}/simple"
        from flows import packaged

        yield packaged
        os.environ.pop("PRIVATE_INDEX")


def error_of(run: str) -> str:
    details = remote.RunDetails.get(run).action_details
    return str(details.error_info)


def failed_build(image: flyte.Image) -> str:
    """The name of the run of a build that must fail."""
    with pytest.raises(flyte.errors.ImageBuildError) as failure:
        flyte.build(image)
    return re.search(r"/runs/(\w+)", str(failure.value))[1]


def output(task) -> str:
    handle = flyte.run(task)
    handle.wait(quiet=True)
    return handle.outputs()[0]


def test_a_task_brings_its_packages_along(own: Server, flows, flyte_cli, tmp_path: pathlib.Path):
    connect(own)
    built = flyte.build(flows.humane.image)
    assert built.remote_run is not None
    assert re.fullmatch(r"flyte:[0-9a-f]{32}", built.uri)
    assert "+ humanize==4.9.0" in flyte_cli("get", "logs", built.remote_run.name)
    handle = flyte.run(flows.number)
    handle.wait(quiet=True)
    assert handle.outputs()[0] == "hello 4.9.0 1,234,567"

    # Someone else, with a home of their own, has nothing to build.
    os.environ["HOME"], home = str(tmp_path), os.environ["HOME"]
    try:
        shown = flyte_cli("run", "flows/packaged.py", "number")
    finally:
        os.environ["HOME"] = home
    assert built.uri in shown and "already exists" in shown, shown

    # Another version is another image, and an environment of its own.
    newer = flyte.build(flows.BASE.with_pip_packages("humanize==4.10.0"))
    assert newer.uri != built.uri
    made = own.data / "environments" / "made"
    assert len(list(made.iterdir())) == 2

    # One that has lost its interpreter is made again.
    for environment in made.iterdir():
        (environment / "venv" / "bin" / "python").unlink()
    again = flyte.build(flows.BASE.with_pip_packages("humanize==4.10.0"), force=True)
    assert again.uri == newer.uri
    assert len(list(made.iterdir())) == 3

    # So is one whose client asks for that.
    before = set(made.iterdir())
    forced = flyte.build(flows.humane.image, force=True)
    assert forced.uri == built.uri
    assert len(set(made.iterdir()) - before) == 1


def test_a_project_of_poetry(own: Server, flows, flyte_cli, tmp_path: pathlib.Path):
    """Poetry writes the lock, the client sends both files, and the build installs what the lock says."""
    connect(own)
    made = own.data / "environments" / "made"
    before = set(made.glob("*"))
    with index_of(OpenIndex) as port:
        (tmp_path / "pyproject.toml").write_text(textwrap.dedent(f"""
            [project]
            name = "poem"
            version = "1.0"
            requires-python = ">=3.10"
            dependencies = ["private-package==1.0"]
            [tool.poetry]
            package-mode = false
            [[tool.poetry.source]]
            name = "ours"
            url = "http://127.0.0.1:{port}/simple/"
            """))
        uv = pathlib.Path(sys.executable).parent / "uv"
        subprocess.run([uv, "tool", "run", "--python", sys.executable, "poetry==2.5.1", "lock", "--no-interaction"], cwd=tmp_path, check=True)
        built = flyte.build(flows.BASE.with_poetry_project(tmp_path / "pyproject.toml", extra_args="--no-root"))
    log = flyte_cli("get", "logs", built.remote_run.name)
    assert "Installing private-package (1.0)" in log, log
    (environment,) = set(made.glob("*")) - before
    program = "import flyte, private_package; print(private_package.WORD)"
    shown = subprocess.run([environment / "venv" / "bin" / "python", "-c", program], check=True, capture_output=True, text=True).stdout
    assert shown == "from the private index\n"


def test_a_package_that_does_not_exist(own: Server, flows, flyte_cli):
    connect(own)
    run = failed_build(flows.BASE.with_pip_packages("no-such-package-of-anybody==1"))
    for text in (flyte_cli("get", "logs", run), error_of(run)):
        assert "no-such-package-of-anybody was not found" in " ".join(text.split()), text
    assert not list((own.data / "environments" / "tags").glob("*.next"))


def test_an_index_with_a_password(own: Server, flows, flyte_cli):
    connect(own)
    run = failed_build(flows.private("no-such-secret"))
    assert "SecretMissing" in error_of(run) and "no-such-secret" in error_of(run)

    flyte_cli("create", "secret", "index-token", "--value", TOKEN, "-p", "flytesnacks", "-d", "development")
    assert output(flows.word) == "from the private index"
    for folder in ("blobs", "logs", "environments", "node"):
        for path, content in own.files(folder):
            assert TOKEN.encode() not in content, path


def test_a_builder_that_is_killed(own: Server, flows, flyte_cli):
    """The run of the build starts it over. A secret with the token exists."""
    connect(own)
    Index.asked.clear()
    Index.answer.clear()
    image = flows.BASE.with_pip_packages(
        "private-package==1.0", "humanize==4.9.0", extra_index_urls=flows.INDEX,
        secret_mounts=[flyte.Secret("index-token", as_env_var="INDEX_TOKEN")],
    )
    with concurrent.futures.ThreadPoolExecutor() as pool:
        try:
            built = pool.submit(flyte.build, image)
            eventually(Index.asked.is_set, what="a question to the index")
            (builder,) = processes_naming("image-build", str(own.data / "environments"))
            os.kill(builder, signal.SIGKILL)
        finally:
            Index.answer.set()
        run = built.result(timeout=600).remote_run
    (action,) = remote.Action.listall(for_run_name=run.name)
    assert action.pb2.status.attempts == 2
    assert not list((own.data / "environments" / "tags").glob("*.next"))


@pytest.mark.skipif(os.geteuid() != 0 or sys.platform != "linux", reason="only root can mount a file system that is small")
def test_a_full_disk(own: Server, flows, flyte_cli):
    connect(own)
    image = flows.BASE.with_pip_packages("humanize==4.11.0")
    made = own.data / "environments" / "made"
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", made], check=True)
    try:
        run = failed_build(image)
    finally:
        subprocess.run(["umount", made], check=True)
    for text in (flyte_cli("get", "logs", run), error_of(run)):
        assert "No space left on device" in " ".join(text.split()), text
    assert flyte.build(image).uri
