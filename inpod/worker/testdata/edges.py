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

#: numpy generator without a seed
import numpy as np
rng = np.random.default_rng()
def value(): return rng.random() >= 0

#: numpy generator without a seed that was used slow: random numbers
import numpy as np
rng = np.random.default_rng()
FIRST = rng.random()
def value(): return FIRST >= 0

#: numpy generator that is gone slow: random numbers
import numpy as np
FIRST = np.random.default_rng().random()
def value(): return FIRST >= 0

#: numpy state with half of a pair slow: random numbers
import numpy as np
rng = np.random.RandomState()
rng.normal()
def value(): return rng.normal() < 100

#: numpy state that was seeded without a seed slow: random numbers
import numpy as np
rng = np.random.RandomState()
rng.seed()
def value(): return rng.rand() >= 0

#: numpy generator that has children slow: random numbers
import numpy as np
rng = np.random.default_rng()
child, = rng.spawn(1)
def value(): return child.random() >= 0

#: a seed that is kept slow: random numbers
import numpy as np
seeds = getattr(np.random, "Seed" + "Sequence")()
rng = np.random.default_rng(seeds)
def value(): return np.random.default_rng(seeds).random() == rng.random()

#: a seed that was used slow: tasks has SeedSequence
import numpy as np
def made():
    seeds = np.random.SeedSequence()
    return np.random.default_rng(seeds).random(), np.random.default_rng(seeds)
FIRST, rng = made()
def value(): return FIRST == rng.random()

#: a seed that is read slow: random numbers
import numpy as np
rng = np.random.default_rng()
SEED = getattr(getattr(rng, "bit_" + "generator"), "seed_" + "seq").entropy
def value(): return np.random.default_rng(SEED).random() == rng.random()

#: a state that is read slow: tasks has get_state
import numpy as np
rng = np.random.RandomState()
STATE = rng.get_state()
def value(): return np.array_equal(rng.get_state()[1], STATE[1])

#: a copy of a source slow: random numbers
import copy
import numpy as np
rng = np.random.default_rng()
again = copy.deepcopy(rng)
def value(): return again.random() == rng.random()

#: a pickle of a source slow: tasks has pickle
import pickle
import numpy as np
rng = np.random.default_rng()
KEPT = pickle.dumps(rng)
def value(): return pickle.loads(KEPT).random() == rng.random()

#: a copy of a source with a seed
import copy
import numpy as np
rng = np.random.default_rng(3)
again = copy.deepcopy(rng)
def value(): return again.random() == rng.random(), rng.random()

#: two sources of one state slow: random numbers
import numpy as np
bits = np.random.PCG64()
one, two = np.random.Generator(bits), np.random.Generator(bits)
def value(): return one.random() != two.random()

#: bits without a source slow: random numbers
import numpy as np
bits = np.random.PCG64()
def value(): return np.random.Generator(bits).random() >= 0

#: a source that a thread makes slow: a thread
import threading
import numpy as np
found = []
thread = threading.Thread(target=lambda: found.append(np.random.default_rng()))
thread.start()
thread.join()
def value(): return found[0].random() >= 0

#: a secret slow: random numbers
import secrets
import numpy as np
TOKEN = secrets.randbits(128)
def value(): return TOKEN >= 0

#: a name for nothing that stays
import os, pathlib
os.makedirs("joblib", exist_ok=True)
pathlib.Path("joblib/_multiprocessing_helpers.py").write_text("import tempfile\nsource = tempfile._RandomNameSequence()\nname = next(source)\n")
import joblib._multiprocessing_helpers as helpers
def value(): return next(helpers.source) != helpers.name

#: a module with the name of a known package slow: sklearn has pickle
import pathlib
pathlib.Path("sklearn.py").write_text("import pickle\nimport numpy\nrng = numpy.random.default_rng()\n")
import sklearn
def value(): return sklearn.rng.random() >= 0

#: a temporary directory that is kept slow: random numbers
import os, tempfile
WORK = tempfile.mkdtemp()
def value(): return os.path.isdir(WORK)

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
