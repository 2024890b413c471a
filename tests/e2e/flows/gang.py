"""What one process of a task with several does in the tests of operators: a directory says how, and gets a file from each."""

from __future__ import annotations

import os
import pathlib
import time

LIMIT = 600  # seconds


def until(found, what: str) -> None:
    deadline = time.monotonic() + LIMIT
    while not found():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.1)


def member(folder: str, rank: int, count: int) -> str:
    """Waits for the other members, then follows its plan: `raise`, `exit`, `hold`, or `after N` to fail when member N has returned."""
    place = pathlib.Path(folder)
    (place / f"member-{rank}").write_text(str(os.getpid()))
    print(f"member {rank} is here", flush=True)
    until(lambda: len(list(place.glob("member-*"))) >= count, f"{count} members")
    plan = place / f"plan-{rank}"
    words = plan.read_text().split() if plan.exists() else ["return"]
    match words[0]:
        case "raise":
            raise ValueError(f"member {rank} was told to fail")
        case "exit":
            os._exit(3)
        case "hold":
            until(lambda: (place / "go").exists(), "the word to go")
        case "after":
            until(lambda: (place / f"returned-{words[1]}").exists(), f"member {words[1]} to return")
            time.sleep(3)  # it uploads its outputs
            os._exit(3)
    print(f"member {rank} returns", flush=True)
    (place / f"returned-{rank}").write_text("")
    return f"{count} members met"
