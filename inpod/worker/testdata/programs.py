"""A hundred small programs of the kinds that people publish: what stands above their tasks. Each defines value(), whose result must not
depend on how the attempt was started.

A program begins with a line "#: NAME", and with "#: NAME slow: WORDS" if its code cannot be loaded before a fork, for a reason that has
these words."""

#: nothing
def value(): return 1

#: constants
RATE, NAMES = 0.07, ["a", "b"]
def value(): return RATE * len(NAMES)

#: dataclasses
from dataclasses import dataclass, field
@dataclass
class Row:
    name: str
    tags: list = field(default_factory=list)
def value(): return Row("x", ["y"])

#: pydantic model
from pydantic import BaseModel, Field
class Config(BaseModel):
    lr: float = 0.1
    layers: list[int] = Field(default_factory=lambda: [1, 2])
def value(): return Config(lr=0.2).model_dump()

#: typed dicts and enums
import enum, typing
class Color(enum.Enum):
    RED = "red"
class Point(typing.TypedDict):
    x: int
def value(): return Color("red").name, Point(x=1)

#: typing protocols
from typing import Protocol, Annotated, Optional, NamedTuple
class Shape(Protocol):
    def area(self) -> float: ...
class Square(NamedTuple):
    side: float
    def area(self) -> float: return self.side ** 2
def value(): return Square(2.0).area()

#: argv of the script
import sys
PROGRAM = sys.argv[0]
def value(): return PROGRAM.endswith("a0"), sys.argv[0] == PROGRAM

#: argv when given a flag
import sys
DEBUG = sys.argv[0] == "debug.py"
def value(): return DEBUG

#: argv length
import sys
ALONE = len(sys.argv) == 1
def value(): return ALONE, len(sys.argv) > 3

#: argv first words
import sys
KIND = sys.argv[1]
def value(): return KIND

#: argv kept for later
from sys import argv
def value(): return argv[argv.index("--run-name") + 1] != "", len(argv) > 3

#: argparse with defaults
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--rows", type=int, default=10)
parser.add_argument("--verbose", action="store_true")
args, _ = parser.parse_known_args()
def value(): return args.rows, args.verbose

#: argparse whose rest is kept
import argparse, sys
parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=3)
args, rest = parser.parse_known_args()
def value(): return args.epochs, rest == sys.argv[1:]

#: argparse under main
import argparse
def cli():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int)
    return parser.parse_args()
def value(): return callable(cli)
if __name__ == "__main__":
    cli()

#: argparse of given words
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--rows", type=int)
args = parser.parse_args(["--rows", "4"])
def value(): return args.rows

#: click command
import click
@click.command()
@click.option("--rows", default=1)
def main(rows): pass
def value(): return main.name

#: variable with default
import os
BUCKET = os.environ.get("BUCKET", "s3://data")
def value(): return BUCKET

#: getenv
import os
LEVEL = int(os.getenv("APP_LEVEL", "3"))
def value(): return LEVEL

#: variable that must be
import os
HOME, PATH = os.environ["HOME"], os.environ["PATH"].split(os.pathsep)
def value(): return bool(HOME), len(PATH) > 0

#: variable in a condition
import os
FAST = "FAST" in os.environ or os.environ.get("CI") == "true"
def value(): return FAST

#: variable with a default that is set
import os
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("OMP_NUM_THREADS", "1")
def value(): return os.environ["TOKENIZERS_PARALLELISM"], os.environ["OMP_NUM_THREADS"]

#: variables that are set
import os
os.environ["HF_HOME"] = "/tmp/hf"
os.environ.update({"A_ONE": "1", "A_TWO": "2"})
os.environ.pop("A_TWO")
def value(): return os.environ["HF_HOME"], os.environ["A_ONE"], os.environ.get("A_TWO")

#: variables for children
import os, subprocess, sys
os.environ["FOR_CHILDREN"] = "yes"
def value(): return subprocess.run([sys.executable, "-c", "import os; print(os.environ['FOR_CHILDREN'])"], capture_output=True, text=True).stdout

#: variables as a dict slow: another value
import os
ALL = dict(os.environ)
def value(): return ALL["ACTION_NAME"] == os.environ["ACTION_NAME"]

#: dotenv
from dotenv import load_dotenv
load_dotenv()
import os
def value(): return os.environ.get("ACTION_NAME") is not None

#: dotenv with a file
import os, pathlib
from dotenv import load_dotenv
pathlib.Path("settings.env").write_text("DOT_ONE=1\nDOT_TWO=${DOT_ONE}2\nDOT_HOME=${HOME}\n")
load_dotenv("settings.env")
def value(): return os.environ["DOT_ONE"], os.environ["DOT_TWO"], os.environ["DOT_HOME"] == os.environ["HOME"]

#: dotenv values
from dotenv import dotenv_values
CONFIG = dotenv_values(".env")
def value(): return dict(CONFIG)

#: pydantic settings
from pydantic_settings import BaseSettings
class Settings(BaseSettings):
    bucket: str = "data"
    retries: int = 3
settings = Settings()
def value(): return settings.model_dump()

#: pydantic settings with a prefix
from pydantic_settings import BaseSettings, SettingsConfigDict
class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="APP_", env_file=".env", env_nested_delimiter="__")
    level: int = 1
settings = Settings()
def value(): return settings.level

#: pydantic settings that read the path
from pydantic_settings import BaseSettings
class Settings(BaseSettings):
    path: str
settings = Settings()
def value(): return len(settings.path) > 0

#: settings made later
import functools
from pydantic_settings import BaseSettings
class Settings(BaseSettings):
    action_name: str
@functools.lru_cache
def settings(): return Settings()
import os
def value(): return settings().action_name == os.environ["ACTION_NAME"]

#: logging basic
import logging
logging.basicConfig(level=logging.INFO)
log = logging.getLogger(__name__)
def value(): log.info("here"); return logging.root.level

#: logging with a handler
import logging, sys
log = logging.getLogger("app")
log.addHandler(logging.StreamHandler(sys.stdout))
log.setLevel("DEBUG")
def value(): log.debug("here"); return log.level

#: logging dict
import logging.config
logging.config.dictConfig({"version": 1, "disable_existing_loggers": False, "handlers": {"c": {"class": "logging.StreamHandler"}},
                           "loggers": {"mine": {"handlers": ["c"], "level": "INFO"}}})
def value(): return logging.getLogger("mine").level

#: logging to a file slow: open files
import logging
logging.getLogger("filed").addHandler(logging.FileHandler("own.log"))
def value(): logging.getLogger("filed").warning("here"); return open("own.log").read()

#: logging by a thread
import logging, logging.handlers, queue
lines = queue.Queue(-1)
class Kept(logging.Handler):
    def __init__(self): super().__init__(); self.lines = []
    def emit(self, record): self.lines.append(record.getMessage())
kept = Kept()
listener = logging.handlers.QueueListener(lines, kept)
listener.start()
log = logging.getLogger("queued")
log.addHandler(logging.handlers.QueueHandler(lines))
def value(): log.warning("here"); listener.stop(); return kept.lines

#: a thread that waits
import queue, threading
work, done = queue.Queue(), queue.Queue()
def serve():
    while True:
        done.put(work.get() * 2)
threading.Thread(target=serve, daemon=True, name="server").start()
def value(): work.put(21); return done.get(timeout=30), [t.name for t in threading.enumerate() if t.name == "server"]

#: a thread of a class
import threading
class Flusher(threading.Thread):
    def __init__(self, every):
        super().__init__(daemon=True)
        self.every, self.asked, self.flushed = every, threading.Event(), threading.Event()
    def run(self):
        self.asked.wait()
        self.flushed.set()
flusher = Flusher(0.5)
flusher.start()
def value(): flusher.asked.set(); return flusher.flushed.wait(30), flusher.is_alive() in (True, False)

#: a timer
import threading
fired = threading.Event()
timer = threading.Timer(0.01, fired.set)
timer.start()
def value(): return fired.wait(30)

#: an executor that nobody uses yet
from concurrent.futures import ThreadPoolExecutor
pool = ThreadPoolExecutor(4)
def value(): return list(pool.map(len, ["a", "bb"]))

#: an executor with work
from concurrent.futures import ThreadPoolExecutor
pool = ThreadPoolExecutor(2)
future = pool.submit(sum, [1, 2])
def value(): return future.result(30)

#: a lock
import threading
lock = threading.RLock()
def value():
    with lock: return 1

#: functions at the end
import atexit
atexit.register(lambda: None)
def value(): return 1

#: seeds
import random
random.seed(42)
FIRST = random.random()
def value(): return FIRST, random.random()

#: a source with a seed
import random
rng = random.Random(7)
def value(): return rng.random(), rng.choice("abc")

#: shuffled with a seed
import random
random.seed("split")
NAMES = list("abcdef")
random.shuffle(NAMES)
def value(): return NAMES, random.randint(0, 100)

#: a uuid slow: random numbers
import uuid
RUN = uuid.uuid4()
def value(): return RUN.version

#: a secret when asked
import secrets, uuid
def value(): return len(secrets.token_hex(4)), uuid.uuid4().version

#: time when asked
import time, datetime
def value(): return time.time() > 0, datetime.datetime.now().year > 2000

#: time of the import slow: time of the import
import time
START = time.time()
def value(): return time.time() >= START

#: a fixed date
import datetime
FROM = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)
def value(): return FROM.isoformat()

#: numpy
import numpy as np
W = np.arange(6).reshape(2, 3)
def value(): return (W @ W.T).tolist()

#: numpy with a seed
import numpy as np
np.random.seed(42)
X = np.random.rand(3)
def value(): return X.tolist(), np.random.rand(2).tolist()

#: numpy generator with a seed
import numpy as np
rng = np.random.default_rng(42)
def value(): return rng.integers(0, 100, 3).tolist()

#: numpy state with a seed slow: random numbers
import numpy as np
rng = np.random.RandomState(3)
def value(): return rng.rand(2).tolist()

#: numpy chance in the task
import numpy as np
def value(): return np.random.rand(2).shape

#: seeds of both
import random
import numpy as np
SEED = 1234
random.seed(SEED); np.random.seed(SEED)
def value(): return random.random(), np.random.random()

#: pandas
import pandas as pd
FRAME = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
def value(): return FRAME.a.sum().item(), len(FRAME)

#: pandas and numpy
import numpy as np
import pandas as pd
pd.set_option("display.width", 100)
def value(): return pd.Series(np.arange(4)).mean().item()

#: pandas in the task
def value():
    import pandas as pd
    return len(pd.DataFrame({"a": [1]}))

#: pyarrow
import pyarrow as pa
SCHEMA = pa.schema([("a", pa.int64())])
def value(): return pa.table({"a": [1, 2]}, schema=SCHEMA).num_rows

#: pyarrow and parquet
import io
import pyarrow as pa, pyarrow.parquet as pq, pyarrow.compute as pc
def value():
    file = io.BytesIO()
    pq.write_table(pa.table({"a": list(range(100000)), "b": [str(i) for i in range(100000)]}), file)
    return pc.sum(pq.read_table(file)["a"]).as_py()

#: requests
import requests
session = requests.Session()
session.headers["User-Agent"] = "me"
def value(): return session.headers["User-Agent"]

#: httpx client
import httpx
client = httpx.Client(timeout=5)
def value(): return client.timeout.read

#: json and paths
import json, pathlib
HERE = pathlib.Path(__file__).parent
CONFIG = json.loads('{"a": [1, 2]}')
def value(): return CONFIG["a"], (HERE / "tasks.py").exists()

#: a file that is read
import pathlib
TEXT = pathlib.Path(__file__).read_text()
def value(): return "def value" in TEXT

#: a file that is written
import pathlib
pathlib.Path("cache.json").write_text("{}")
def value(): return pathlib.Path("cache.json").read_text()

#: a temporary directory
import tempfile, pathlib
ROOT = pathlib.Path(tempfile.gettempdir()) / "mine"
def value(): return ROOT.name

#: the working directory
import os
CWD = os.getcwd()
def value(): return CWD == os.getcwd()

#: the path of modules
import os, sys
sys.path.append(os.path.dirname(os.path.abspath(__file__)))
def value(): return sys.path[-1] == os.path.dirname(os.path.abspath(__file__))

#: a program that is run
import subprocess
VERSION = subprocess.run(["uname", "-s"], capture_output=True, text=True).stdout.strip()
def value(): return VERSION

#: warnings
import warnings
warnings.filterwarnings("ignore")
warnings.simplefilter("ignore", DeprecationWarning)
def value(): return any(f[0] == "ignore" for f in warnings.filters)

#: caches
import functools
@functools.lru_cache(maxsize=None)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
fib(30)
def value(): return fib(40)

#: regular expressions
import re
WORD = re.compile(r"\w+")
def value(): return WORD.findall("a b")

#: decorators
import functools, time
def timed(f):
    @functools.wraps(f)
    def inner(*a): return f(*a)
    return inner
@timed
def twice(x): return 2 * x
def value(): return twice(2)

#: asyncio
import asyncio
LIMIT = asyncio.Semaphore(3)
async def one():
    async with LIMIT: return 1
def value(): return asyncio.run(one())

#: signals
import signal
signal.signal(signal.SIGUSR1, lambda *_: None)
def value(): return callable(signal.getsignal(signal.SIGUSR1))

#: decimal
import decimal
decimal.getcontext().prec = 10
def value(): return str(decimal.Decimal(1) / 3)

#: recursion
import sys
sys.setrecursionlimit(5000)
def value(): return sys.getrecursionlimit()

#: multiprocessing
import multiprocessing as mp
CONTEXT = mp.get_context("spawn")
def value(): return CONTEXT.cpu_count() > 0

#: the SDK's own things
import flyte, flyte.io, flyte.report
from flyte.io import File, Dir, DataFrame
IMAGE = flyte.Image.from_debian_base()
RETRY = flyte.RetryStrategy(count=2)
def value(): return RETRY.count

#: rich
from rich.console import Console
console = Console()
def value(): console.print("here"); return console.is_terminal

#: sklearn-like pipeline
class Pipeline:
    def __init__(self, *steps): self.steps = steps
    def run(self, x):
        for step in self.steps: x = step(x)
        return x
pipeline = Pipeline(abs, float)
def value(): return pipeline.run(-2)

#: a registry of functions
REGISTRY = {}
def register(f): REGISTRY[f.__name__] = f; return f
@register
def one(): return 1
def value(): return sorted(REGISTRY)

#: a small ETL
import csv, io
ROWS = list(csv.DictReader(io.StringIO("a,b\n1,2\n3,4\n")))
def value(): return sum(int(r["a"]) for r in ROWS)

#: templates
import string, textwrap
PROMPT = string.Template(textwrap.dedent("""
    Summarize $text
"""))
def value(): return PROMPT.substitute(text="x")

#: yaml settings
import yaml
CONFIG = yaml.safe_load("a: [1, 2]\nb: x")
def value(): return CONFIG

#: sqlite when asked
import sqlite3
def value(): return sqlite3.connect(":memory:").execute("select 1 + 1").fetchone()

#: html parsing
from html.parser import HTMLParser
class Links(HTMLParser):
    def __init__(self): super().__init__(); self.found = []
    def handle_starttag(self, tag, attrs): self.found += [v for k, v in attrs if k == "href"]
def value():
    p = Links(); p.feed('<a href="x">y</a>'); return p.found

#: Monte Carlo with a seed for each task
import random
def estimate(seed, n=1000):
    rng = random.Random(seed)
    return sum(rng.random() ** 2 + rng.random() ** 2 < 1 for _ in range(n))
def value(): return estimate(1)

#: hyperparameter grid
import itertools
GRID = [dict(zip(("lr", "depth"), v)) for v in itertools.product([0.1, 0.01], [2, 4])]
def value(): return len(GRID), GRID[0]

#: retries by hand
import time
def attempt(f, times=3):
    for i in range(times):
        try: return f()
        except ValueError: time.sleep(0)
def value(): return attempt(lambda: 5)

#: a chat client with a key
import os
API_KEY = os.environ.get("OPENAI_API_KEY", "")
class Client:
    def __init__(self, key): self.key = key
client = Client(API_KEY)
def value(): return client.key

#: device choice
import os
DEVICE = "cuda" if os.environ.get("CUDA_VISIBLE_DEVICES") else "cpu"
def value(): return DEVICE

#: images with numpy
import numpy as np
KERNEL = np.ones((3, 3)) / 9
def blur(image): return np.einsum("ij,ij->", image[:3, :3], KERNEL)
def value(): return float(blur(np.ones((4, 4))))

#: time series with pandas
import pandas as pd
INDEX = pd.date_range("2024-01-01", periods=4, freq="D")
def value(): return pd.Series([1, 2, 3, 4], index=INDEX).resample("2D").sum().tolist()

#: abstract classes
from abc import ABC, abstractmethod
class Model(ABC):
    @abstractmethod
    def predict(self, x): ...
class Linear(Model):
    def __init__(self, w): self.w = w
    def predict(self, x): return self.w * x
MODEL = Linear(3)
def value(): return MODEL.predict(2)

#: context managers
import contextlib
@contextlib.contextmanager
def timer():
    yield 1
def value():
    with timer() as t: return t

#: a queue of work
import collections, heapq
BACKLOG = collections.deque([3, 1, 2])
HEAP = list(BACKLOG); heapq.heapify(HEAP)
def value(): return heapq.heappop(HEAP), len(BACKLOG)

#: struct and hashes
import hashlib, struct
DIGEST = hashlib.sha256(struct.pack(">I", 7)).hexdigest()
def value(): return DIGEST[:8]

#: version of the program
import importlib.metadata
VERSION = importlib.metadata.version("flyte")
def value(): return len(VERSION) > 0

#: platform
import platform, sys
WHERE = platform.system(), sys.version_info[:2]
def value(): return WHERE
