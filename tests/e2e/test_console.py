"""The console in a real browser: the links that clients print open the right pages."""

import pathlib
import subprocess
import urllib.request

import flyte
import pytest

from conftest import connect
from flows import basic
from server import Server
from test_clients import browser


@pytest.fixture
def look(server: Server, tmp_path: pathlib.Path):
    """Opens a URL and returns the rendered document."""

    def open_page(path: str, wait_for: str) -> str:
        # Virtual time stands still while requests are in flight, and a page that follows streams always has some. So a page
        # that is not ready is opened again.
        page = ""
        for seconds in (10, 20, 40):
            done = subprocess.run(
                [browser(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                 "--disable-background-networking", "--disable-component-update", "--disable-sync",
                 f"--user-data-dir={tmp_path / 'profile'}", f"--virtual-time-budget={seconds * 1000}", "--dump-dom", server.url + path],
                text=True, capture_output=True, timeout=120,
            )
            page = done.stdout
            if wait_for in page:
                return page
        pytest.fail(f"{path} has no {wait_for!r}:\n{page[-3000:]}")

    return open_page


def test_the_printed_link_shows_the_run(server: Server, look):
    connect(server)
    run = flyte.run(basic.hello, "browser")
    run.wait(quiet=True)
    path = run.url.removeprefix(server.url)
    assert path.startswith("/v2/domain/development/project/flytesnacks/runs/"), run.url
    page = look(path, 'data-phase="succeeded"')
    assert run.name in page and "hello" in page


def test_runs_and_projects_are_listed(server: Server, look):
    connect(server)
    run = flyte.run(basic.hello, "listed")
    run.wait(quiet=True)
    assert run.name in look("/v2/domain/development/project/flytesnacks/runs", run.name)
    look("/v2/", "/v2/domain/development/project/flytesnacks/runs")


def test_pages_load_nothing_from_elsewhere(server: Server):
    with urllib.request.urlopen(server.url + "/", timeout=10) as answer:
        assert answer.url == server.url + "/v2/"
        policy = answer.headers["Content-Security-Policy"]
        page = answer.read().decode()
    assert "default-src 'none'" in policy and "script-src 'self';" in policy
    assert "http" not in page, "an address of somewhere else"
