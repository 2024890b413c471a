#!/usr/bin/env python3
"""Runs test suites in parallel, and reports how long each took and which tests were slow.

usage: tools/suites.py [--rerun-failed] [--last NAME] NAME...

The suites start in the given order, FLYTE_TEST_LANES of them at a time (2 unless set): all wait a lot for processes to start, and
the suites after them in the list use the processors meanwhile. Each writes to .cache/test/NAME.log, which is printed when it
ends. All suites run, even after one has failed. The end of the log of the suite --last is printed last.

With --rerun-failed, the few tests that failed run once more, alone, after all suites. If they pass then, the suite passes, and
the report names them as flaky."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as xml
from collections.abc import Iterator
from dataclasses import dataclass, field

import rerun

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOGS = ROOT / ".cache" / "test"

# Lint has run vet already, with more of its checks. The packages that take longest start first, and the demo's module, which
# waits for demos to start, runs alongside them; its report follows that of the product. The upgrade test starts from the commit before, of which the cache has most packages.
GO = f"""
(cd demo && go test -json -vet=off -ldflags='-s -w' -p 1 -timeout 60m ./... >{LOGS}/go-demo.json) & demo=$!
(cd release/image && go test -json -vet=off -p 1 ./... >{LOGS}/go-image.json) & image=$!
status=0
old=$PWD/.cache/upgrade-old-program
if tools/build-commit.sh HEAD^ "$old"; then export FLYTE_UPGRADE_OLD=$old; fi
go test -json -vet=off -ldflags='-s -w' -p 2 -timeout 60m ./tests/faults ./tests/bench ./runs/store ./executor ./runs ./manager ./... || status=1
wait $demo || status=1
wait $image || status=1
cat {LOGS}/go-demo.json {LOGS}/go-image.json
exit $status"""

COMMANDS = {
    "lint": ["make", "--no-print-directory", "lint"],
    "verify": ["make", "--no-print-directory", "verify"],
    "console": ["npm", "run", "--prefix", "console", "--silent", "test", "--", "--reporter=default", "--reporter=json",
                f"--outputFile.json={LOGS}/console.json"],
    "e2e": [".cache/e2e-python/bin/python", "-m", "pytest", "tests/e2e", "-n", "2", "--dist", "loadscope", "--no-loadscope-reorder", "-q", "-rfEs",
            f"--junitxml={LOGS}/e2e.xml"],
    "browser": ["npm", "run", "--prefix", "console", "--silent", "e2e", "--", "--reporter=list,json"],
    "go": [".bin/gotestsum", "--format", "pkgname-and-test-fails", "--jsonfile", f"{LOGS}/go.json", "--raw-command", "--", "bash", "-c", GO],
}

# All Go programs of the suites (compilers, linters, tests, servers) collect garbage less often than by default, which saves a
# tenth of all CPU time. The limit keeps golangci-lint, which would take 14 GiB, within a third of the memory.
RARE_COLLECTIONS = {
    "GOGC": "400",
    "GOMEMLIMIT": str(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 3),
}


@dataclass
class Suite:
    name: str
    began: float = 0  # seconds after the first suite
    seconds: float = 0
    cpu: float = 0
    failed: bool = False
    flaky: bool = False

    @property
    def log(self) -> pathlib.Path:
        return LOGS / f"{self.name}.log"

    @property
    def rerun_log(self) -> pathlib.Path:
        return LOGS / f"{self.name}-again.log"

    def run(self) -> None:
        self.failed = not self._execute(COMMANDS[self.name], self.log)

    def rerun(self) -> None:
        """Runs the failed tests again, if that is worth it."""
        if command := rerun.command(self.name, LOGS):
            self.flaky = self._execute(command, self.rerun_log)
            self.failed = not self.flaky
            print(f"\n== {self.name}: the failed tests, run again {'passed' if self.flaky else 'FAILED'}", flush=True)
            sys.stdout.buffer.write(self.rerun_log.read_bytes())
            sys.stdout.flush()

    def _execute(self, command: list[str], log: pathlib.Path) -> bool:
        environment = {**RARE_COLLECTIONS, **os.environ, "PLAYWRIGHT_JSON_OUTPUT_NAME": str(LOGS / "browser.json")}
        began = time.monotonic()
        with log.open("wb") as out:
            process = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.seconds += time.monotonic() - began
        self.cpu += used.ru_utime + used.ru_stime
        return process.returncode == 0


@dataclass
class Lanes:
    """Runs suites in order, several at a time."""

    waiting: list[Suite]
    zero: float = field(default_factory=time.monotonic)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, count: int) -> None:
        lanes = [threading.Thread(target=self._lane) for _ in range(count)]
        for lane in lanes:
            lane.start()
        for lane in lanes:
            lane.join()

    def _lane(self) -> None:
        while True:
            with self.lock:
                if not self.waiting:
                    return
                suite = self.waiting.pop(0)
            suite.began = time.monotonic() - self.zero
            suite.run()
            with self.lock:
                print(f"\n== {suite.name}{' FAILED' if suite.failed else ''} ({suite.seconds:.0f} s, from {suite.began:.0f} s on)", flush=True)
                sys.stdout.buffer.write(suite.log.read_bytes())
                sys.stdout.flush()


def durations(suites: list[Suite]) -> Iterator[tuple[float, str, str]]:
    """The seconds, the suite and the name of every test that reported its time."""
    names = {suite.name for suite in suites}
    if "go" in names and (LOGS / "go.json").exists():
        for line in (LOGS / "go.json").read_text(errors="replace").splitlines():
            event = json.loads(line) if line.startswith("{") else {}
            if event.get("Action") in ("pass", "fail") and "/" not in event.get("Test", "/"):
                yield event.get("Elapsed", 0), "go", f"{event['Package'].split('/flyte-binary/', 1)[-1]} {event['Test']}"
    if "e2e" in names and (LOGS / "e2e.xml").exists():
        for case in xml.parse(LOGS / "e2e.xml").iter("testcase"):
            yield float(case.get("time", 0)), "e2e", f"{case.get('classname')}.py {case.get('name')}"
    if "browser" in names and (LOGS / "browser.json").exists():
        yield from browser_durations(json.loads((LOGS / "browser.json").read_text()).get("suites", []))
    if "console" in names and (LOGS / "console.json").exists():
        for file in json.loads((LOGS / "console.json").read_text()).get("testResults", []):
            for case in file["assertionResults"]:
                yield (case.get("duration") or 0) / 1000, "console", f"{pathlib.Path(file['name']).name} {case['title']}"


def browser_durations(suites: list[dict]) -> Iterator[tuple[float, str, str]]:
    for suite in suites:
        yield from browser_durations(suite.get("suites", []))
        for spec in suite.get("specs", []):
            for test in spec["tests"]:
                yield sum(result["duration"] for result in test["results"]) / 1000, "browser", f"{spec['file']} {spec['title']}"


def tail(suite: Suite, lines: int) -> str:
    log = suite.rerun_log if suite.flaky else suite.log
    return "\n".join(log.read_text(errors="replace").rstrip().splitlines()[-lines:])


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--last", choices=COMMANDS)
    parser.add_argument("--rerun-failed", action="store_true")
    parser.add_argument("names", nargs="+", choices=COMMANDS, metavar="NAME")
    wanted = parser.parse_args()
    LOGS.mkdir(parents=True, exist_ok=True)
    for old in LOGS.iterdir():
        old.unlink()
    suites = [Suite(name) for name in wanted.names]
    Lanes(list(suites)).run(int(os.environ.get("FLYTE_TEST_LANES", "2")))
    if wanted.rerun_failed:
        for suite in suites:
            if suite.failed:
                suite.rerun()

    slow = sorted(durations(suites), reverse=True)[:10]
    if slow:
        print("\nThe ten slowest tests:")
        for seconds, suite, name in slow:
            print(f"{seconds:8.1f} s  {suite:8} {name}")
    print("\n suite      from  seconds  cpu seconds")
    for suite in suites:
        print(f" {suite.name:8} {suite.began:6.0f} {suite.seconds:8.0f} {suite.cpu:12.0f}  {'FAILED' if suite.failed else 'ok, but flaky' if suite.flaky else 'ok'}")
    for suite in suites:
        if suite.failed:
            print(f"\n== failed: {suite.name} (whole output: {suite.log.relative_to(ROOT)})\n{tail(suite, 40)}")
        elif suite.flaky:
            print(f"\n== flaky: {suite.name}. Tests failed and passed when they ran again alone; the product or the test has a bug "
                  f"that must be found (first output: {suite.log.relative_to(ROOT)}).")
    for suite in suites:
        if suite.name == wanted.last:
            print(f"\n{tail(suite, 1)}", flush=True)
    return int(any(suite.failed for suite in suites))


if __name__ == "__main__":
    sys.exit(main())
