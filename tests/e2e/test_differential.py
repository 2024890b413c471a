"""The same programs, started in every way in which a task can start: cold, from a warm parent that has learned nothing, little or all
that is installed, and in workers with one slot and with several. What a program computes or sees must be the same, and what it draws
must differ between any two processes. `make differential` has the long lists.

What may differ is in docs/warm-starts.md and docs/reusable-environments.md, and in DOCUMENTED below.
"""

import collections
import importlib.metadata
import json
import os
import random
import re

import flyte
import flyte.remote as remote
import pytest

from flows import differing
from server import Server, eventually
from test_flows import phase_of
from test_warm import COLD, explained

pytestmark = pytest.mark.usefixtures("sdk")

LONG = os.environ.get("FLYTE_DIFFERENTIAL") == "1"

#: Packages that are taught. The second is reached as an attribute of the first, the last has no __init__.py.
FEW = ["numpy", "numpy.random", "PIL", "jsonschema", "pyarrow", "pandas", "opentelemetry"]

#: What a way to start may show of itself, and why.
DOCUMENTED = {
    # The SDK's client is made when a task first uses it, and there is a socket to the worker.
    "in_one_slot": {"files"},
    # The same, and coroutines of one process, whose event loop handles signals. Earlier attempts have imported packages.
    "in_slots": {"files", "handlers", "unexpected modules", "standard", "warnings"},
}


def installed() -> list[str]:
    """The packages of the environment, which is the one that runs this test. Some are refused, for the reasons in the server's log."""
    found = {name for name in importlib.metadata.packages_distributions() if re.fullmatch(r"[a-z][A-Za-z0-9]*", name)}
    return sorted(found - {"flyte", "flyteidl2", "pip", "pytest", "py", "streamlit", "xdist"})


def teach(server: Server, names: list[str]) -> None:
    """Has the warm parents learn these packages and no others, as two tasks do that import them. The server's log says which it refused."""
    folders = list((server.data / "node/warm/imports").iterdir())
    assert folders, "no warm parent has started"
    log = server.data / "logs/server.log"
    before = log.read_text(errors="replace")
    effective = {name for name in names if not re.search(rf'does not import.*package"?[=:]"?{re.escape(name)}(?![\w.])', before)}
    if getattr(server, "taught", None) == effective:
        return
    server.taught = effective
    for folder in folders:
        for file in folder.iterdir():
            file.unlink()
        for name in names:
            (folder / name).write_bytes(b"..")
    eventually(lambda: "has learned packages" in log.read_text(errors="replace")[len(before) :], what=f"a parent that has learned {names}")


def launch(task, *arguments, cold: bool = False):
    return flyte.with_runcontext(env_vars=COLD if cold else {}).run(task, *arguments)


def outputs(handle) -> list:
    handle.wait(quiet=True)
    if phase_of(handle) != "succeeded":
        pytest.fail(f"{handle.name}: {remote.RunDetails.get(handle.name).action_details.error_info}")
    return handle.outputs()


class Comparison:
    """Programs in processes that were started in different ways."""

    def __init__(self, programs: list[str]):
        self.programs, self.drawn = programs, collections.defaultdict(dict)
        self.expected = {}

    def run(self, task, times: int = 1, cold: bool = False) -> None:
        """Starts each program some times, and compares it with the first that was started cold."""
        way = task.name.rpartition(".")[2]
        handles = [(name, launch(task, name, cold=cold)) for name in self.programs for _ in range(times)]
        for name, handle in handles:
            told = json.loads(outputs(handle)[0])
            if cold:
                self.expected.setdefault(name, told["same"])
            assert way != "alone" or told["warm"] != cold, f"{handle.name} did not start as it should"
            expected, got = self.expected[name], told["same"]
            differing = {
                key: (expected.get(key), got.get(key)) for key in expected | got
                if expected.get(key) != got.get(key) and key not in DOCUMENTED.get(way, ())
            }
            assert not differing, f"{name}, {way}, cold: {cold}\n{explained(differing)}"
            for key, value in told["own"].items():
                process = told["pid"] if key == "authkey" else handle.name  # attempts of one process share this one
                self.drawn[name, key][process] = json.dumps(value)

    def different(self) -> None:
        """No two processes have drawn the same."""
        same = {key: drawn for key, drawn in self.drawn.items() if len(set(drawn.values())) < len(drawn)}
        assert not same, same


def test_programs_cannot_tell_how_they_started(server: Server):
    names = [name for name in differing.PROGRAMS if name != "learned"]
    for name in ("torch", "jax"):
        if name not in importlib.metadata.packages_distributions():
            print(f"{name} is left out: it is not installed here, as it is large")
            names.remove(name)
    launched = Comparison(names)
    launched.run(differing.alone, cold=True)
    launched.run(differing.alone, cold=True)
    launched.run(differing.alone, times=2)
    launched.run(differing.in_one_slot, times=3)
    launched.run(differing.in_slots, times=3)
    teach(server, FEW)
    kept = json.loads(outputs(launch(differing.alone, "learned"))[0])["same"]["learned"]
    assert {"numpy", "numpy.random"} <= set(kept), kept
    launched.run(differing.alone, times=3)
    if LONG:
        teach(server, installed())
        launched.run(differing.alone, times=3)
    launched.different()


def test_imports_do_what_they_do_in_a_cold_start(server: Server):
    """Packages that a parent has learned, in other lists than it has learned them."""
    chance = random.Random(7)
    for _ in range(12 if LONG else 1):
        outputs(launch(differing.alone, "chance"))  # the parent is there
        taught = [*FEW, *(chance.sample(installed(), 6) if LONG else ())]
        teach(server, taught)
        lists = [json.dumps(FEW), *(json.dumps(chance.sample([*taught, *chance.sample(installed(), 3)], 4)) for _ in range(4 if LONG else 2))]
        launched = Comparison(lists)
        launched.run(differing.alone, cold=True)
        launched.run(differing.alone)


ENDS = ["raise", "chained", "exit 3", "exit with text", "leave 4", "signal", "at the end", "a thread", "recursion", "big number"]


def end_of(handle) -> dict:
    """How a run ended, without what differs between any two."""
    handle.wait(quiet=True)
    action = remote.RunDetails.get(handle.name).action_details
    error = action.error_info
    text = error.message if error is not None else ""
    text = re.sub(r"/\S*/(?=[^/\s]+)", "", text).replace(handle.name, "RUN")
    text = re.sub(r"ends_(alone|in_one_slot|in_slots)|differing(_single|_several)?", "TASK", text)
    return {
        "phase": phase_of(handle), "kind": error.kind if error is not None else None, "code": error.code if error is not None else None,
        "message": text, "attempts": len(action.pb2.attempts),
    }


def without_log(end: dict) -> dict:
    """Messages about the end of a process have lines of its log, if it had a pod of its own."""
    return end | {"message": ""} if end["message"].startswith("the task's process") else end


def traceback_of(handle) -> list[str]:
    """The traceback in a run's log, without what differs between any two runs."""
    text = "".join(line.removeprefix(" ") for line in remote.Action.get(run_name=handle.name, name="a0").get_logs())
    assert "Traceback" in text, text
    lines = text[text.index("Traceback") :].partition("[flyte]")[0].splitlines()
    lines = [re.sub(r'File "[^"]*/', 'File "', line) for line in lines]
    return [re.sub(r"line \d+, in ends_\w+", "in TASK", line) for line in lines]


def test_tasks_end_alike(server: Server):
    ends = ENDS if LONG else ENDS[:7]
    cold = {how: launch(differing.ends_alone, how, cold=True) for how in ends}
    warm = {how: launch(differing.ends_alone, how) for how in ends}
    pooled = {how: launch(differing.ends_in_one_slot, how) for how in ends}
    expected = {how: end_of(handle) for how, handle in cold.items()}
    shared = {}
    for how in ends:  # one after the other: an attempt that ends its process ends those that share it
        shared[how] = launch(differing.ends_in_slots, how)
        assert without_log(end_of(shared[how])) == without_log(expected[how]), how
        assert end_of(warm[how]) == expected[how], how
        assert without_log(end_of(pooled[how])) == without_log(expected[how]), how
    for how in ("raise", "chained"):
        said = traceback_of(cold[how])
        assert said[-1].endswith(("as asked", "the end")) and any("ends(how)" in line for line in said), said
        for other in (warm, pooled, shared):
            assert traceback_of(other[how]) == said, how
    assert expected["raise"]["phase"] == "failed" and "as asked" in expected["raise"]["message"]
    assert expected["at the end"]["phase"] == "succeeded"


def test_a_task_pays_for_no_package_of_others(server: Server):
    """What succeeds cold succeeds warm, also close to the limit, and what does not fit does not fit."""
    cold = [outputs(launch(differing.holds, 40, "", cold=True))[0] for _ in range(2)]
    teach(server, [*FEW, *(installed() if LONG else ())])
    fitting = differing.holds.override(resources=flyte.Resources(memory=f"{max(cold) + 6}Mi"))
    handles = [launch(fitting, 40, "", cold=True), *(launch(fitting, 40, "") for _ in range(3))]
    for handle in handles:
        assert outputs(handle)[0] >= 40
    for handle in (launch(fitting, 400, "", cold=True), launch(fitting, 400, "")):
        assert (end_of(handle)["phase"], end_of(handle)["code"]) == ("failed", "OOMKilled")


def test_a_task_in_a_slot_pays_for_itself_alone(server: Server):
    """What fits into a worker fits again and again, whatever earlier attempts have held and imported: two of them would not fit."""
    cold = outputs(launch(differing.holds, 200, "", cold=True))[0]
    for package in ("", "numpy", "", "", ""):
        held = outputs(launch(differing.holds_in_one_slot, 200, package))[0]
        assert package or abs(held - cold) <= 24, (held, cold)
    end = end_of(launch(differing.holds_in_one_slot, 900, ""))
    assert (end["phase"], end["code"], end["attempts"]) == ("failed", "OOMKilled", 1), end
    assert outputs(launch(differing.holds_in_one_slot, 200, ""))[0] >= 200, "the next worker"
