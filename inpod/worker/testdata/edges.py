"""Small programs that a fork would change, or almost: what looks like an ordinary program and must be refused, or need not be. The format
is that of programs.py."""

#: argv of this attempt slow: sys.argv
import sys
NAME = sys.argv[sys.argv.index("--name") + 1]
def value(): return NAME == sys.argv[sys.argv.index("--name") + 1]

#: argv looked through slow: sys.argv
import sys
VERBOSE = "--verbose" in sys.argv
def value(): return VERBOSE

#: argv changed slow: it changes sys.argv
import sys
sys.argv = sys.argv[:1]
def value(): return len(sys.argv)

#: argparse whose rest is read slow: sys.argv
import argparse
parser = argparse.ArgumentParser()
args, rest = parser.parse_known_args()
COUNT = len([word for word in rest if word == "--nope"])
def value(): return COUNT

#: argparse with own types slow: sys.argv
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--rows", type=lambda text: int(text), default=10)
args, _ = parser.parse_known_args()
def value(): return args.rows

#: variable of the attempt slow: ACTION_NAME
import os
NAME = os.environ["ACTION_NAME"]
def value(): return NAME == os.environ["ACTION_NAME"]

#: variables by a prefix slow: another value
import os
MINE = {name: text for name, text in os.environ.items() if name.startswith("MY_APP_")}
def value(): return MINE

#: dotenv of the attempt slow: ACTION_NAME
import os, pathlib
from dotenv import load_dotenv
pathlib.Path("own.env").write_text("DOT_MINE=${ACTION_NAME}\n")
load_dotenv("own.env")
def value(): return os.environ["DOT_MINE"] == os.environ["ACTION_NAME"]

#: pydantic settings of the attempt slow: ACTION_NAME
import os
from pydantic_settings import BaseSettings
class Settings(BaseSettings):
    action_name: str
settings = Settings()
def value(): return settings.action_name == os.environ["ACTION_NAME"]

#: a thread that is waited for slow: waits for a thread
import threading
found = []
thread = threading.Thread(target=lambda: found.append(1))
thread.start()
thread.join()
def value(): return found

#: a result that is waited for slow: waits for a thread
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(1) as pool:
    TOTAL = pool.submit(sum, [1, 2]).result()
def value(): return TOTAL

#: a source without a seed slow: random numbers
import random
rng = random.Random()
def value(): return rng.random() >= 0

#: chance slow: random numbers
import random
CHOICE = random.random()
def value(): return CHOICE >= 0

#: chance before a seed slow: random numbers
import random
CHOICE = random.random()
random.seed(1)
def value(): return CHOICE >= 0, random.random()

#: date of the import slow: time of the import
import datetime
NOW = datetime.datetime.now()
def value(): return datetime.datetime.now() >= NOW

#: process id slow: id of the process
import os
PID = os.getpid()
def value(): return PID == os.getpid()

#: numpy generator without a seed slow: random numbers
import numpy as np
rng = np.random.default_rng()
def value(): return rng.random() >= 0

#: numpy chance slow: random numbers
import numpy as np
X = np.random.rand(2)
def value(): return X.shape

#: a file that is left open slow: open files
FILE = open(__file__)
def value(): return "def value" in FILE.read()

#: the working directory is changed slow: working directory
import os
os.makedirs("below", exist_ok=True)
os.chdir("below")
def value(): return os.path.basename(os.getcwd())
