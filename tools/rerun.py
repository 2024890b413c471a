"""The commands that run the failed tests of a suite again, alone.

A suite is run again only if few of its tests failed. Builds that failed, linters and other checks are not: they fail the same
way every time."""

from __future__ import annotations

import json
import pathlib
import re
import shlex
from collections import defaultdict

# More failed tests than this are a broken product, not an unlucky test.
MOST = 3

MODULE = "github.com/flyte-binary/flyte-binary"


def command(suite: str, logs: pathlib.Path) -> list[str] | None:
    """What runs the failed tests of a suite again; None if nothing should."""
    match suite:
        case "go":
            return go(logs / "go.json", logs / "go-again.json")
        case "e2e":
            return [".cache/e2e-python/bin/python", "-m", "pytest", "tests/e2e", "--last-failed", "--last-failed-no-failures", "none", "-q", "-rfE",
                    "-n", "0"] if few((logs / "e2e.log").read_text(errors="replace")) else None
        case "browser":
            return ["npm", "run", "--prefix", "console", "--silent", "e2e", "--", "--reporter=list", "--last-failed"] \
                if few((logs / "browser.log").read_text(errors="replace")) else None
    return None


def few(log: str) -> bool:
    """Whether the summary of pytest or Playwright counts few failed tests and no other trouble."""
    failed = re.findall(r"^\s*(?:=+ )?(\d+) failed\b", log, re.MULTILINE)
    return bool(failed) and int(failed[-1]) <= MOST and not re.search(r"\b\d+ errors?\b", log.rstrip().splitlines()[-1])


def go(events: pathlib.Path, report: pathlib.Path) -> list[str] | None:
    tests: dict[str, list[str]] = defaultdict(list)
    packages = set()
    for line in events.read_text(errors="replace").splitlines():
        event = json.loads(line) if line.startswith("{") else {}
        if event.get("Action") != "fail" or "Package" not in event:
            continue
        if "Test" not in event:
            packages.add(event["Package"])
        elif "/" not in event["Test"]:
            tests[event["Package"]].append(event["Test"])
    if not tests or packages != set(tests) or sum(map(len, tests.values())) > MOST:
        return None
    return [".bin/gotestsum", "--format", "pkgname-and-test-fails", "--jsonfile", str(report), "--raw-command", "--", "bash", "-ec",
            "\n".join(again(package, names) for package, names in sorted(tests.items()))]


def again(package: str, tests: list[str]) -> str:
    directory, inner = ("demo", package.removeprefix(f"{MODULE}/demo")) if package.startswith(f"{MODULE}/demo") \
        else (".", package.removeprefix(MODULE))
    pattern = "^(" + "|".join(map(re.escape, tests)) + ")$"
    return f"(cd {directory} && go test -json -vet=off -ldflags='-s -w' -count=1 -timeout 30m -run {shlex.quote(pattern)} .{shlex.quote(inner)})"
