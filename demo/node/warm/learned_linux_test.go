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
	}
	for name, code := range bad {
		t.Run(name, func(t *testing.T) {
			f, packages := newEnvironment(t, age+"import fine\ntry:\n    import "+name+"\nfinally:\n    print(mine(fine), mine("+name+"), flush=True)\n    os._exit(0) if sys.argv[1:] == ['end'] else None")
			f.write(packages+"/fine.py", "import os\nprocess = os.getpid()")
			f.write(packages+"/"+name+".py", "import os\nprocess = os.getpid()\n"+code)
			if name == "gone" { // nothing tells which package it was
				for range 5 {
					require.Equal(t, "imported here imported here\n", f.output())
				}
				return
			}
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
