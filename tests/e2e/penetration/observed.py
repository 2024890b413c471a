"""What the tests read of the server: metrics, its log, its memory."""

from __future__ import annotations

import pathlib
import re

from server import Server
from test_access import Browser


def metric(server: Server, admin: Browser, pattern: str) -> float:
    """The sum of the series of /metrics whose lines match a pattern."""
    _, text = admin.open("/metrics")
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if re.match(pattern, line))


def logged(server: Server, *words: str) -> int:
    """How many lines of the server's log have all the words."""
    lines = (server.data / "logs" / "server.log").read_text(errors="replace").splitlines()
    return sum(all(word in line for word in words) for line in lines)


def peak(pid: int) -> int:
    """The most memory that a process has had since the last reset, in bytes."""
    return int(re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) * 1024
