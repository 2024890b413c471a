"""Programs that tell all they can compute or see, to be started in every way in which a task can start.

A program returns what must be the same however its process started, and what must differ between any two processes.
"""

import importlib
import json
import os
import sys

import flyte

from flows import seen

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


@program
def chance() -> tuple[dict, dict]:
    import hashlib
    import multiprocessing
    import random
    import secrets
    import tempfile
    import uuid

    own = {
        "random": random.random(), "random bits": random.getrandbits(64), "a source": random.Random().random(),
        "a source of the system": random.SystemRandom().random(), "uuid4": str(uuid.uuid4()), "uuid1": str(uuid.uuid1()),
        "secrets": secrets.token_hex(), "urandom": os.urandom(16).hex(), "authkey": bytes(multiprocessing.current_process().authkey).hex(),
    }
    with tempfile.NamedTemporaryFile() as file, tempfile.TemporaryDirectory() as folder:
        own["temporary file"], own["temporary directory"] = os.path.basename(file.name), os.path.basename(folder)
    random.seed(7)
    same = {"random": random.random(), "a source": random.Random(7).random(), "hash of a number": hash(2.5)}
    same["shuffled"] = random.sample(range(100), 20)
    random.seed()  # other attempts of the same process must not draw what this one would
    same["digest"] = hashlib.sha256(b"x").hexdigest()
    return same, own


@program
def numpy_without_import() -> tuple[dict, dict]:
    """Reaches numpy.random as an attribute."""
    import numpy

    own = {"rand": numpy.random.rand(), "integers": numpy.random.randint(1 << 62)}
    own |= {"default_rng": numpy.random.default_rng().random(), "RandomState": numpy.random.RandomState().rand()}
    numpy.random.seed(7)
    same = {
        "rand": list(numpy.random.rand(5)), "default_rng": list(numpy.random.default_rng(7).random(5)), "errors": numpy.geterr(),
        "permutation": numpy.random.permutation(20).tolist(), "sum": float(numpy.linspace(0, 1, 1001).sum()), "printed": repr(numpy.arange(3) / 3),
    }
    numpy.random.seed()
    same["solved"] = numpy.round(numpy.linalg.solve([[2.0, 1.0], [1.0, 3.0]], [3.0, 5.0]), 12).tolist()
    return same, own


@program
def numpy_with_import() -> tuple[dict, dict]:
    import numpy.random
    from numpy.random import rand

    return {"numpy": numpy.__version__}, {"rand": rand(), "exponential": numpy.random.exponential()}


@program
def frames() -> tuple[dict, dict]:
    """pandas, and pyarrow, whose pools of threads are used after the fork."""
    import io

    import pandas
    import pyarrow.compute
    import pyarrow.parquet

    table = pandas.DataFrame({"a": range(200_000), "b": [str(i % 7) for i in range(200_000)]})
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pandas(table), file)
    back = pyarrow.parquet.read_table(file)
    same = {
        "sum": pyarrow.compute.sum(back["a"]).as_py(), "groups": table.groupby("b")["a"].sum().tolist(), "rows": len(back),
        "types": [str(one) for one in back.schema.types], "options": pandas.get_option("display.max_rows"),
    }
    return same, {"sample": table["a"].sample(5).tolist()}


def scientific(name: str, own) -> tuple[dict, dict]:
    """A package that not every environment has."""
    try:
        importlib.import_module(name)
    except ImportError:
        return {f"{name} is missing": True}, {}
    return own()


@program
def torch() -> tuple[dict, dict]:
    def look():
        import torch

        drawn = torch.rand(1).item()
        torch.manual_seed(7)
        seeded = torch.rand(3).tolist()
        torch.seed()
        return {"rand": seeded, "threads": torch.get_num_threads()}, {"rand": drawn}

    return scientific("torch", look)


@program
def jax() -> tuple[dict, dict]:
    def look():
        import jax

        return {"uniform": jax.random.uniform(jax.random.key(7), (3,)).tolist(), "devices": [str(one) for one in jax.devices()]}, {}

    return scientific("jax", look)


@program
def modules() -> tuple[dict, dict]:
    """Programs test for what is loaded, such as multiprocessing."""
    return {"standard": sorted(name for name in sys.modules if name.partition(".")[0] in sys.stdlib_module_names)}, {}


@program
def surroundings() -> tuple[dict, dict]:
    """What differs is compared in test_warm.py with more detail; this is what holds for pools, too."""
    import asyncio
    import datetime
    import decimal
    import fcntl
    import locale
    import logging
    import multiprocessing
    import signal
    import threading
    import time
    import warnings

    opened = seen.files()
    began = start_of_process()
    record = logging.LogRecord("x", 20, __file__, 1, "text", (), None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        warnings.warn("of the task", DeprecationWarning)
    return {
        "zone": [time.tzname, time.timezone, datetime.datetime.fromtimestamp(1_700_000_000).isoformat()],
        "locale": [locale.setlocale(locale.LC_ALL), locale.getpreferredencoding(False), sys.getfilesystemencoding(), f"{1234.5:n}"],
        "warnings": [f"{rule[0]} {rule[2].__name__}" for rule in warnings.filters],
        "caught": [str(one.message) for one in caught],
        "logging": [logging.root.level, len(logging.root.handlers), logging.getLevelName(20), logging.root.manager.disable],
        "age of the log": abs(logging._startTime / (1 if isinstance(logging._startTime, float) else 1e9) - began) < 60 and record.relativeCreated < 120_000,
        "decimal": repr(decimal.getcontext()),
        "digits": sys.get_int_max_str_digits(),
        "recursion": sys.getrecursionlimit(),
        "switch interval": sys.getswitchinterval(),
        "start method": multiprocessing.get_start_method(allow_none=True),
        "main": [sys.modules["__main__"].__name__, sys.modules.get("__mp_main__", sys.modules["__main__"]) is sys.modules["__main__"]],
        "policy": type(asyncio.get_event_loop_policy()).__name__,
        "umask": [line for line in open("/proc/self/status").read().splitlines() if line.startswith("Umask")],
        "limits": open("/proc/self/limits").read(),
        "nice": os.nice(0),
        "files": opened,
        "files of programs that it starts": {name: found[:2] for name, found in opened.items() if not found[2] & fcntl.FD_CLOEXEC},
        "blocked": sorted(map(str, signal.pthread_sigmask(signal.SIG_BLOCK, []))),
        "handlers": {str(number): repr(signal.getsignal(number)).split(" at ")[0] for number in (1, 2, 13, 15, 17)},
        "stack of threads": threading.stack_size(),
        "flags": repr(sys.flags),
        "unexpected modules": [name for name in ("numpy", "scipy", "pandas.core", "PIL", "colorsys", "wave") if name in sys.modules],
        "builtins": sorted(name for name in vars(__import__("builtins")) if name != "_"),
    }, {}


@program
def tracebacks() -> tuple[dict, dict]:
    """What errors look like: of causes, of groups, of text that is no Python, of threads, and of deep recursion."""
    import re
    import threading
    import traceback

    def told(function) -> list[str]:
        try:
            function()
        except BaseException as error:
            return [re.sub(r'File "[^"]*/', 'File "', line) for line in traceback.format_exception(error)]
        return []

    def fails():
        raise ValueError("as asked")

    def chained():
        try:
            fails()
        except ValueError as error:
            raise RuntimeError("the end") from error

    def replaced():
        try:
            fails()
        except ValueError:
            {}["absent"]

    def group():
        raise ExceptionGroup("several", [ValueError("one"), TypeError("two")])

    def in_a_thread():
        found = []
        threading.excepthook, hook = lambda given: found.append(given.exc_value), threading.excepthook
        thread = threading.Thread(target=fails)
        thread.start()
        thread.join()
        threading.excepthook = hook
        raise found[0]

    def recursion(depth=0):
        return recursion(depth + 1) if depth < 50 else fails()

    same = {function.__name__: told(function) for function in (fails, chained, replaced, group, in_a_thread, recursion)}
    same["no Python"] = told(lambda: compile("a b", "text", "exec"))
    same["imported"] = told(lambda: importlib.import_module("no_such_module"))
    same["hooks"] = [sys.excepthook.__name__, threading.excepthook.__name__, sys.unraisablehook.__name__, hasattr(sys, "tracebacklimit")]
    return same, {}


@program
def learned() -> tuple[dict, dict]:
    """What the warm parent keeps aside; nothing after a cold start."""
    return {"learned": [unit.name for finder in sys.meta_path for unit in getattr(finder, "units", ())]}, {}


def start_of_process() -> float:
    """Seconds since 1970."""
    with open("/proc/self/stat") as file:
        ticks = int(file.read().rpartition(")")[2].split()[19])
    with open("/proc/stat") as file:
        boot = next(int(line.split()[1]) for line in file if line.startswith("btime"))
    return boot + ticks / os.sysconf("SC_CLK_TCK")


def brought(names: list[str]) -> dict:
    """What the imports of packages do to a process."""
    import atexit
    import logging
    import warnings

    found = {}
    for name in names:
        known, filters, ends = set(sys.modules), list(warnings.filters), atexit._ncallbacks()
        loggers = dict(logging.root.manager.loggerDict)
        try:
            module = importlib.import_module(name)
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"
            continue
        new = {key for key in set(sys.modules) - known if not key.startswith(("flyte", "_"))}
        submodules = [key for key in list(sys.modules) if key.rpartition(".")[0] == name]
        found[name] = {
            "modules": sorted(new),
            "attributes that are modules": sorted(key for key in submodules if vars(module).get(key.rpartition(".")[2]) is sys.modules[key]),
            "filters": [f"{rule[0]} {rule[2].__name__} {rule[1] and rule[1].pattern}" for rule in warnings.filters if rule not in filters],
            "ends": atexit._ncallbacks() - ends,
            "loggers": sorted(set(logging.root.manager.loggerDict) - set(loggers)),
            "spec": [module.__spec__.name, type(module.__spec__.loader).__name__, module.__spec__.origin],
        }
    return found


plain = flyte.TaskEnvironment(name="differing")
single = flyte.TaskEnvironment(name="differing_single", reusable=flyte.ReusePolicy(replicas=1, concurrency=1))
small = flyte.TaskEnvironment(name="differing_small", reusable=flyte.ReusePolicy(replicas=1, concurrency=1), resources=flyte.Resources(memory="500Mi"))
several = flyte.TaskEnvironment(name="differing_several", reusable=flyte.ReusePolicy(replicas=1, concurrency=3))


def told(name: str) -> str:
    same, own = PROGRAMS[name]() if name in PROGRAMS else (brought(json.loads(name)), {})
    parent = open(f"/proc/{os.getppid()}/cmdline").read().split("\0")
    return json.dumps({"same": same, "own": own, "warm": "shim" in " ".join(parent) and len(parent) > 3, "pid": os.getpid()}, default=str)


@plain.task(retries=0)
async def alone(name: str) -> str:
    return told(name)


@single.task(retries=0)
async def in_one_slot(name: str) -> str:
    return told(name)


@several.task(retries=0)
async def in_slots(name: str) -> str:
    return told(name)


def ends(how: str) -> int:
    import atexit
    import signal
    import threading

    if how == "raise":
        raise ValueError("as asked")
    if how == "chained":
        try:
            raise KeyError("the cause")
        except KeyError as error:
            raise RuntimeError("the end") from error
    if how == "exit 3":
        sys.exit(3)
    if how == "exit with text":
        sys.exit("the reason")
    if how == "leave 4":
        os._exit(4)
    if how == "signal":
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()
    if how == "at the end":
        atexit.register(lambda: 1 / 0)
    if how == "a thread":
        threading.Thread(target=lambda: print("the thread ends"), daemon=False).start()
    if how == "recursion":
        ends(how)
    if how == "big number":
        int("9" * 5000)
    return 7


@plain.task(retries=0)
async def ends_alone(how: str) -> int:
    return ends(how)


@single.task(retries=0)
async def ends_in_one_slot(how: str) -> int:
    return ends(how)


@several.task(retries=0)
async def ends_in_slots(how: str) -> int:
    return ends(how)


async def held(mebibytes: int, package: str) -> int:
    """Holds memory long enough for some looks, and returns what the process then holds in MiB."""
    import asyncio

    if package:
        importlib.import_module(package)
    data = b"x" * (mebibytes << 20)
    await asyncio.sleep(1.5)
    with open("/proc/self/status") as file:
        anonymous = next(int(line.split()[1]) for line in file if line.startswith("RssAnon:"))
    return anonymous // 1024 + (len(data) - (mebibytes << 20))


@plain.task(retries=0)
async def holds(mebibytes: int, package: str) -> int:
    return await held(mebibytes, package)


@small.task(retries=0)
async def holds_in_one_slot(mebibytes: int, package: str) -> int:
    return await held(mebibytes, package)
