package warm_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/demo/node/warm"
)

// newEnvironment is a fixture with a virtual environment and a pool that learns. It returns the directory of its packages.
func newEnvironment(t *testing.T, code string, change ...func(*warm.Config)) (*fixture, string) {
	t.Helper()
	change = append(change, func(c *warm.Config) { c.Learn, c.Fork = 20*time.Millisecond, 5*time.Second })
	f := newFixture(t, code, change...)
	interpreter, err := python()
	require.NoError(t, err)
	raw, err := exec.CommandContext(t.Context(), interpreter, "-c", "import sys; print('python%d.%d' % sys.version_info[:2])").Output()
	require.NoError(t, err)
	packages := filepath.Join("lib", strings.TrimSpace(string(raw)), "site-packages")
	require.NoError(t, os.MkdirAll(filepath.Join(f.dir, packages), 0o755))
	f.write("pyvenv.cfg", "home = "+filepath.Dir(interpreter)+"\n")
	own := filepath.Join(f.dir, "bin", "python3")
	require.NoError(t, os.Symlink(interpreter, own))
	require.NoError(t, os.WriteFile(f.script, []byte("#!"+own+"\n"+code), 0o755))
	go f.pool.Run(t.Context())
	return f, packages
}

// output starts the entry point warm and returns what it has written.
func (f *fixture) output(words ...string) string {
	f.t.Helper()
	p := f.start(true, nil, words...)
	state := p.end()
	require.True(f.t, state.Warm, "%s: %s", f.counts(), state.Refused)
	return p.log()
}

// until starts tasks until one has written the text. What the others wrote must be the first text.
func (f *fixture) until(first, last string, words ...string) {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		got := f.output(words...)
		require.Contains(f.t, []string{first, last}, got)
		return got == last
	}, 60*time.Second, 10*time.Millisecond)
}

// age tells whether the import of a package happened in this process.
const age = `
import os, sys
def mine(module):
    return "imported here" if module.process == os.getpid() else "imported before"
sys.path.insert(0, ".")
`

func TestAPackageThatTasksUseIsImportedBeforeTheFork(t *testing.T) {
	f, packages := newEnvironment(t, age+`
loaded = [name for name in sys.modules if name.startswith(("tool", "colorsys"))]
import warnings
filters = len(warnings.filters)
if sys.argv[1] == "use":
    import tool
    print(mine(tool), loaded, tool.part.name, tool.part is sys.modules["tool.part"], len(warnings.filters) - filters, flush=True)
elif sys.argv[1] == "own":
    open("tool.py", "w").write("name = 'of the task'")
    import tool, importlib
    print(tool.name, tool.__file__ == os.path.realpath("tool.py"))
elif sys.argv[1] == "library":
    open("colorsys.py", "w").write("name = 'of the task'")
    import colorsys
    print(colorsys.name, "tool" in sys.modules)
elif sys.argv[1] == "part":
    import colorsys, tool.part, importlib
    print(mine(tool), tool.part.name, tool.__spec__.name, type(tool.__spec__.loader).__name__, importlib.reload(tool) is tool, mine(tool))
`)
	require.NoError(t, os.Mkdir(filepath.Join(f.dir, packages, "tool"), 0o755))
	f.write(packages+"/tool/__init__.py", `
import atexit, colorsys, os, warnings
from . import part
process = os.getpid()
warnings.simplefilter("ignore", part.Odd)
atexit.register(os.write, 1, b"the end\n")
`)
	f.write(packages+"/tool/part.py", "class Odd(Warning): pass\nname = 'part'")
	f.until("imported here [] part True 1\nthe end\n", "imported before [] part True 1\nthe end\n", "use")
	require.Equal(t, "of the task True\n", f.output("own"), "a module of the task's own code comes first")
	require.Equal(t, "of the task False\n", f.output("library"))
	require.Equal(t, "imported before part tool SourceFileLoader True imported here\nthe end\nthe end\n", f.output("part"))

	f.write(packages+"/tool/part.py", "class Odd(Warning): pass\nname = 'another'")
	f.until("imported here [] another True 1\nthe end\n", "imported before [] another True 1\nthe end\n", "use")
}

func TestAPackageThatIsRegisteredToBeLoadedWhenItIsUsed(t *testing.T) {
	f, packages := newEnvironment(t, age+`
before = "tool.part" in sys.modules
import flyte
print(mine(flyte.tool), before, "tool.part" in sys.modules)
`)
	f.write("lib/flyte/__init__.py", `
import importlib.util, sys
spec = importlib.util.find_spec("tool")
spec.loader = importlib.util.LazyLoader(spec.loader)
tool = sys.modules["tool"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)
`)
	require.NoError(t, os.Mkdir(filepath.Join(f.dir, packages, "tool"), 0o755))
	f.write(packages+"/tool/__init__.py", "import os\nfrom . import part\nprocess = os.getpid()")
	f.write(packages+"/tool/part.py", "")
	f.until("imported here False True\n", "imported before False True\n")
}

func TestTheProgramKeepsItsNameWhenMultiprocessingIsLearned(t *testing.T) {
	f, packages := newEnvironment(t, age+`
if __name__ == "__main__":
    import tool
    print(mine(tool), sys.modules["__mp_main__"] is sys.modules["__main__"], sys.modules["__main__"].__dict__ is globals())
`)
	f.write(packages+"/tool.py", "import multiprocessing, os\nprocess = os.getpid()")
	f.until("imported here True True\n", "imported before True True\n")
}

func TestAPackageThatAForkWouldBreakIsLeftOut(t *testing.T) {
	bad := map[string]string{
		"thread":    "import threading, time; threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
		"native":    "import _thread, time; _thread.start_new_thread(time.sleep, (60,))",
		"opened":    "keep = open('/proc/self/stat')",
		"child":     "import subprocess; child = subprocess.Popen(['sleep', '60'])",
		"variable":  "os.environ['OTHER'] = 'value'",
		"home":      "home = os.path.expanduser('~')",
		"copied":    "copy = dict(os.environ)",
		"secret":    "mine = os.environ.get('MINE')",
		"handler":   "import signal; signal.signal(signal.SIGUSR2, signal.SIG_IGN)",
		"logger":    "import logging; logging.basicConfig()",
		"chances":   "import random; source = random.Random()",
		"seeded":    "import random; random.seed(1)",
		"sockets":   "import socket; socket.setdefaulttimeout(3)",
		"gone":      "if os.getpid() != 0 and 'warm parent' in open('/proc/self/cmdline').read() or 'parent.py' in open('/proc/self/cmdline').read(): os._exit(3)",
		"failing":   "if 'parent.py' in open('/proc/self/cmdline').read(): raise ValueError('not here')",
		"replacing": "import time; time.sleep = print",
		"patching":  "import colorsys; colorsys.rgb_to_hsv = print",
		"extending": "import fine; fine.Thing.more = lambda self: 1",
		"seeds":     "import random\nclass Mine(random.Random): pass\nsource = Mine()",
		"drawing":   "import uuid; run = uuid.uuid4()",
		"pids":      "PID = os.getpid()",
		"dated":     "import time; began = time.time()",
		"moment":    "import datetime; began = datetime.datetime.now(datetime.timezone.utc)",
		"umask":     "os.umask(0o77)",
		"precision": "import decimal; decimal.getcontext().prec = 7",
		"digits":    "sys.set_int_max_str_digits(0)",
		"quiet":     "import logging; logging.getLogger('asyncio').setLevel(50)",
		"context":   "import contextvars; contextvars.ContextVar('mine').set(1)",
		"limits":    "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))",
	}
	for name, code := range bad {
		t.Run(name, func(t *testing.T) {
			f, packages := newEnvironment(t, age+"import fine\ntry:\n    import "+name+"\nfinally:\n    print(mine(fine), mine("+name+"), flush=True)\n    os._exit(0) if sys.argv[1:] == ['end'] else None")
			f.write(packages+"/fine.py", "import os\nprocess = os.getpid()\nclass Thing: pass\n")
			f.write(packages+"/"+name+".py", "import os, sys\nprocess = os.getpid()\n"+code)
			f.until("imported here imported here\n", "imported before imported here\n")
			require.Regexp(t, `^warm \d+$`, f.counts())
		})
	}
}

func TestChanceOfNumpyDiffersInEachTask(t *testing.T) {
	f, packages := newEnvironment(t, age+"import numpy.random.mtrand as m\nprint(mine(m._rand), m._rand.seeded)")
	require.NoError(t, os.MkdirAll(filepath.Join(f.dir, packages, "numpy/random"), 0o755))
	f.write(packages+"/numpy/__init__.py", "")
	f.write(packages+"/numpy/random/__init__.py", "")
	f.write(packages+"/numpy/random/mtrand.py", `
import os
class RandomState:
    process, seeded = os.getpid(), 0
    def seed(self):
        self.seeded += 1
_rand = RandomState()
`)
	f.until("imported here 0\n", "imported before 1\n")
}

// Each task imports another part of the same packages, and must see what it would see after a cold start: of a part that it does not
// import nothing, and of one that it does everything, by whichever way it comes to it.
func TestALearnedPackageIsThereOnlyForThoseWhoImportIt(t *testing.T) {
	f, packages := newEnvironment(t, age+`
import atexit, json, logging, random, sys, threading, warnings, weakref
logging.getLogger("aaa").setLevel(10) if sys.argv[1] == "logger" else None
def ways():
    yield "nothing", lambda: None
    yield "other", lambda: __import__("other")
    yield "attribute", lambda: getattr(__import__("bbb"), "part", None)
    yield "part", lambda: __import__("bbb.part")
    yield "package", lambda: __import__("aaa")
    yield "logger", lambda: __import__("aaa")
    yield "library", lambda: __import__("colorsys")
    yield "configured", lambda: (__import__("logging.config"), logging.config.dictConfig({"version": 1}), __import__("aaa"))
    yield "finalizer", lambda: weakref.finalize(ways, print, "the task's own finalizer")
for name, way in ways():
    if name == sys.argv[1]:
        found = way()
names = [name for name in sys.modules if name.partition(".")[0] in ("aaa", "bbb", "other", "colorsys", "wave")]
loggers = {name: [one.level, one.disabled, one.parent.name] for name, one in logging.root.manager.loggerDict.items() if hasattr(one, "level") and name[:3] in ("aaa", "bbb")}
filters = [str(rule[1] and rule[1].pattern) for rule in warnings.filters if rule[1] and "of " in rule[1].pattern]
print(json.dumps([found is not None, sorted(names), loggers, filters, len(threading._threading_atexits)]))
if sys.argv[1] == "package":
    print("learned" if sys.modules["aaa"].process != os.getpid() else "imported", file=sys.stderr)
`)
	for name, text := range map[string]string{
		"aaa/__init__.py": "import bbb.part, wave, logging, os, warnings, atexit, weakref, threading\nprocess = os.getpid()\nlog = logging.getLogger(__name__)\n" +
			"warnings.filterwarnings('ignore', 'of aaa')\natexit.register(print, 'aaa ends')\nthreading._register_atexit(int)\n" +
			"class Kept: pass\nkept = Kept()\nweakref.finalize(kept, print, 'finalizer of aaa')\n",
		"bbb/__init__.py": "import logging, warnings, atexit\nlogging.getLogger('bbb.deep')\nwarnings.filterwarnings('ignore', 'of bbb')\natexit.register(print, 'bbb ends')\n",
		"bbb/part.py":     "import colorsys, logging, warnings, atexit\nlogging.getLogger('bbb')\nwarnings.filterwarnings('ignore', 'of part')\natexit.register(print, 'part ends')\n",
		"other.py":        "import bbb.part\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(f.dir, packages, name)), 0o755))
		f.write(packages+"/"+name, text)
	}
	want := map[string]string{}
	for _, way := range []string{"nothing", "other", "attribute", "part", "package", "logger", "library", "configured", "finalizer"} {
		p := f.start(false, nil, way)
		require.Zero(t, p.end().ExitCode, p.log())
		want[way] = strings.ReplaceAll(p.log(), "imported\n", "")
	}
	require.Contains(t, want["package"], "aaa ends")
	require.Contains(t, want["package"], "finalizer of aaa")
	require.Contains(t, want["finalizer"], "the task's own finalizer")
	require.Eventually(t, func() bool {
		f.output("other")
		return strings.Contains(f.output("package"), "learned\n")
	}, 60*time.Second, 10*time.Millisecond)
	for way, cold := range want {
		require.Equal(t, cold, strings.ReplaceAll(f.output(way), "learned\n", ""), way)
	}
}

func TestWhatIsWrongWithReportsCostsNothing(t *testing.T) {
	f, _ := newEnvironment(t, age+"print(1)")
	require.Equal(t, "1\n", f.output())
	dirs, err := filepath.Glob(filepath.Join(f.dir, "warm/imports/*"))
	require.NoError(t, err)
	require.Len(t, dirs, 1)
	for _, name := range []string{"missing", "-c import os", "os", "flyte", ".", "x.y.z", "sys"} {
		_ = os.WriteFile(filepath.Join(dirs[0], name), []byte("garbage"), 0o600)
	}
	for range 20 {
		require.Equal(t, "1\n", f.output())
	}
	require.Equal(t, "warm 21", f.counts())
}
