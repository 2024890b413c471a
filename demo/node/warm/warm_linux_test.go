package warm_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/demo/node/process"
	"github.com/flyte-binary/flyte-binary/demo/node/shim"
	"github.com/flyte-binary/flyte-binary/demo/node/warm"
)

// several ends in one of many ways, named by its first argument.
const several = `
import atexit, ctypes, json, os, signal, subprocess, sys, threading, time
kind = sys.argv[1]
if kind == "look":
    print(json.dumps({
        "argv": sys.argv, "cwd": os.getcwd(), "mine": os.environ["MINE"], "group": os.getpgrp() == os.getpid(),
        "session": os.getsid(0) == os.getppid(), "files": sorted(os.listdir("/proc/self/fd"))[:3],
        "environ": os.environ["MINE"] in open("/proc/self/environ").read(), "comm": open("/proc/self/comm").read(),
    }))
elif kind == "raise":
    def inner():
        raise ValueError("as asked")
    inner()
elif kind == "text":
    sys.exit("the end")
elif kind == "code":
    sys.exit(7)
elif kind == "syntax":
    import broken
elif kind == "abort":
    os._exit(9)
elif kind == "segv":
    os.kill(os.getpid(), signal.SIGSEGV)
elif kind == "thread":
    atexit.register(print, "at exit")
    threading.Thread(target=lambda: (time.sleep(0.05), print("thread"))).start()
elif kind == "children":
    print(subprocess.run(["/bin/sh", "-c", "echo $MINE; exit 4"], capture_output=True, text=True))
    if os.fork() == 0:
        os._exit(5)
    print(os.waitstatus_to_exitcode(os.wait()[1]))
elif kind == "eat":
    data = bytearray(300 << 20)
    time.sleep(60)
elif kind == "wait":
    child = os.fork()
    if child:
        print("child", child, flush=True)
    time.sleep(60)
elif kind == "gate":
    print("waiting", flush=True)
    while not os.path.exists("open"):
        time.sleep(0.01)
    sys.exit(6)
`

func TestAWarmStartIsLikeAColdOne(t *testing.T) {
	f := newFixture(t, several)
	f.write("lib/broken.py", "this is not Python\n")
	for _, kind := range []string{"look", "raise", "text", "code", "syntax", "abort", "segv", "thread", "children"} {
		cold, hot := f.start(false, nil, kind, "x y", ""), f.start(true, nil, kind, "x y", "")
		want, got := cold.end(), hot.end()
		require.True(t, got.Warm, "%s: %s", kind, got.Refused)
		require.Equal(t, []int{want.ExitCode, want.Signal}, []int{got.ExitCode, got.Signal}, kind)
		require.Equal(t, cold.log(), hot.log(), kind)
	}
	require.Equal(t, "warm 9", f.counts())
}

func TestAnImportThatMakesAThreadAndALoop(t *testing.T) {
	f := newFixture(t, `
import asyncio, flyte, threading
print(flyte.thread.is_alive(), [thread.name for thread in threading.enumerate()])
print(asyncio.run_coroutine_threadsafe(asyncio.sleep(0, "answer"), flyte.loop).result(10))
`)
	f.write("lib/flyte/__init__.py", `
import asyncio, threading
loop = asyncio.new_event_loop()
def run():
    asyncio.set_event_loop(loop)
    loop.run_forever()
thread = threading.Thread(name="of the import", target=run, daemon=True)
thread.start()
`)
	for range 3 {
		p := f.start(true, nil)
		state := p.end()
		require.True(t, state.Warm, state.Refused)
		require.Equal(t, "True ['MainThread', 'of the import']\nanswer\n", p.log())
	}
}

func TestWhatCannotBeForkedStartsCold(t *testing.T) {
	for name, sdk := range map[string]string{
		"a thread outside of Python's list": "import _thread, time; _thread.start_new_thread(time.sleep, (60,))",
		"an open file":                      "import os; keep = os.open('/', os.O_RDONLY)",
		"an import that fails":              "raise RuntimeError('broken')",
		"an import that ends the process":   "import os; os._exit(3)",
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, "print('here')")
			f.write("lib/flyte/__init__.py", sdk)
			for range 2 {
				p := f.start(true, nil)
				require.Zero(t, p.end().ExitCode)
				require.False(t, p.State().Warm)
				require.Equal(t, "here\n", p.log())
			}
			require.Equal(t, "warm 0, unfit 2", f.counts())
		})
	}
}

func TestAParentThatIsNotReadyInTime(t *testing.T) {
	f := newFixture(t, "print('here')", func(c *warm.Config) { c.Stall = 50 * time.Millisecond })
	f.write("lib/flyte/__init__.py", "import time; time.sleep(60)")
	p := f.start(true, nil)
	require.Zero(t, p.end().ExitCode)
	require.False(t, p.State().Warm)
	require.Equal(t, "warm 0, slow 1", f.counts())
}

// TestAParentThatTakesLongButMakesProgress: a cold start would take as long.
func TestAParentThatTakesLongButMakesProgress(t *testing.T) {
	f := newFixture(t, "print('here')", func(c *warm.Config) { c.Stall = 2 * time.Second })
	f.write("lib/flyte/__init__.py", "import time\nwhile time.process_time() < 3: pass")
	p := f.start(true, nil)
	require.Zero(t, p.end().ExitCode)
	require.True(t, p.State().Warm)
	require.Equal(t, "warm 1", f.counts())
}

// TestAParentThatUsesItsTimeUp: what never ends is not waited for.
func TestAParentThatUsesItsTimeUp(t *testing.T) {
	f := newFixture(t, "print('here')", func(c *warm.Config) { c.Ready = time.Second })
	f.write("lib/flyte/__init__.py", "while True: pass")
	p := f.start(true, nil)
	require.Zero(t, p.end().ExitCode)
	require.False(t, p.State().Warm)
	require.Equal(t, "warm 0, slow 1", f.counts())
}

func TestAVariableThatAnImportReads(t *testing.T) {
	f := newFixture(t, "import flyte; print(flyte.mode)")
	f.write("lib/flyte/__init__.py", "import os; mode = os.environ.get('MODE')")
	set := func(c *process.Command) { c.Env = append(c.Env, "MODE=fast") }
	for range 2 {
		p := f.start(true, nil)
		p.end()
		require.Equal(t, "None\n", p.log())
		p = f.start(true, set)
		p.end()
		require.Equal(t, "fast\n", p.log())
	}
	require.Equal(t, "warm 2, variables 2", f.counts())
}

func TestAChangedEnvironmentIsImportedAgain(t *testing.T) {
	f := newFixture(t, "import flyte; print(flyte.version)")
	for _, version := range []string{"one", "three"} {
		f.write("lib/flyte/__init__.py", "version = '"+version+"'")
		for range 2 {
			p := f.start(true, nil)
			p.end()
			require.Equal(t, version+"\n", p.log())
		}
	}
	require.Regexp(t, "^warm ", f.counts())
}

func TestATaskOutlivesItsParentAndItsNode(t *testing.T) {
	f := newFixture(t, several)
	p := f.start(true, nil, "gate")
	p.await("waiting")
	require.Eventually(t, func() bool { return p.State().Warm }, time.Minute, 10*time.Millisecond, "the state may come after the first output")
	require.NoError(t, syscall.Kill(f.parent(), syscall.SIGKILL))
	found, err := process.Attach(p.dir) // as the next node does
	require.NoError(t, err)

	other := f.start(true, nil, "code")
	require.Equal(t, 7, other.end().ExitCode, "the next one starts cold")
	require.False(t, other.State().Warm)

	require.NoError(t, os.WriteFile(filepath.Join(p.dir, "open"), nil, 0o600))
	require.Equal(t, 6, p.end().ExitCode)
	<-found.Done()
	require.Equal(t, 6, found.State().ExitCode)
}

func TestAForkThatStandsStillBecomesAColdStart(t *testing.T) {
	f := newFixture(t, several, func(c *warm.Config) { c.Fork = 3 * time.Second })
	require.True(t, f.start(true, nil, "code").endsWarm())
	parent := f.parent()
	require.NoError(t, syscall.Kill(parent, syscall.SIGSTOP))
	p := f.start(true, nil, "code")
	require.Equal(t, 7, p.end().ExitCode)
	require.False(t, p.State().Warm)
	require.Equal(t, "warm 1, failed 1", f.counts())
	require.Error(t, syscall.Kill(parent, 0), "it cannot fork later")
}

func TestNothingOfAWarmTaskIsLeft(t *testing.T) {
	f := newFixture(t, several)
	for name, end := range map[string]func(*started){
		"killed":        func(p *started) { p.Kill() },
		"terminated":    func(p *started) { p.Terminate() },
		"shim killed":   func(p *started) { _ = syscall.Kill(p.State().ShimPID, syscall.SIGKILL) },
		"out of memory": nil,
	} {
		t.Run(name, func(t *testing.T) {
			if end == nil {
				p := f.start(true, func(c *process.Command) { c.MemoryBytes = 150 << 20 }, "eat")
				require.True(t, p.end().OutOfMemory)
				require.True(t, p.State().Warm)
				return
			}
			p := f.start(true, nil, "wait")
			p.await("child ")
			child, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(p.log(), "child ")))
			require.NoError(t, err)
			// What the task prints may be ahead of what the shim reports.
			require.Eventually(t, func() bool { return p.State().Warm }, 10*time.Second, time.Millisecond)
			end(p)
			state := p.end()
			require.Equal(t, name == "shim killed", state.Phase != shim.Exited)
			for _, pid := range []int{state.PID, child} {
				require.Eventually(t, func() bool { return syscall.Kill(pid, 0) != nil || zombie(pid) }, 10*time.Second, 5*time.Millisecond)
			}
		})
	}
}

func TestIdleParentsEnd(t *testing.T) {
	f := newFixture(t, several)
	require.True(t, f.start(true, nil, "code").endsWarm())
	parent := f.parent()
	require.NotZero(t, parent)
	f.pool.Stop()
	require.Error(t, syscall.Kill(parent, 0))
	p := f.start(true, nil, "code")
	require.Equal(t, 7, p.end().ExitCode)
	require.Equal(t, "warm 1, off 1", f.counts())
}

// TestStorm starts many processes that end in all ways, kills the parent in the middle, and changes the environment. The
// variable FLYTE_WARM_STORM is how many.
func TestStorm(t *testing.T) {
	number := 60
	if text := os.Getenv("FLYTE_WARM_STORM"); text != "" {
		var err error
		number, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	f := newFixture(t, several, func(c *warm.Config) { c.Pause = 100 * time.Millisecond })
	f.write("lib/broken.py", "this is not Python\n")
	want := map[string]int{"look": 0, "raise": 1, "text": 1, "code": 7, "syntax": 1, "abort": 9, "segv": 139, "thread": 0, "children": 0, "wait": 137, "eat": 137}
	var kinds []string
	for kind := range want {
		kinds = append(kinds, kind)
	}
	var wg sync.WaitGroup
	jobs := make(chan int)
	var mu sync.Mutex
	var wrong []string
	for range 4 {
		wg.Go(func() {
			for i := range jobs {
				kind := kinds[i%len(kinds)]
				p := f.start(true, func(c *process.Command) { c.MemoryBytes = 150 << 20 }, kind)
				if kind == "wait" {
					p.await("child ")
					p.Kill()
				}
				if state := p.end(); state.ExitCode != want[kind] || state.Phase != shim.Exited || state.OutOfMemory != (kind == "eat") {
					mu.Lock()
					wrong = append(wrong, fmt.Sprintf("%s: %+v\n%s", kind, state, p.log()))
					mu.Unlock()
				}
			}
		})
	}
	for i := range number {
		jobs <- i
		if i%30 == 10 {
			f.write("lib/flyte/__init__.py", fmt.Sprintf("number = %d", i))
		}
		if i%30 == 20 {
			if parent := f.parent(); parent != 0 {
				_ = syscall.Kill(parent, syscall.SIGKILL)
			}
		}
	}
	close(jobs)
	wg.Wait()
	require.Empty(t, wrong)
	hot, cold := f.pool.Counts().Starts()
	require.NotZero(t, hot)
	sum := hot
	for _, count := range cold {
		sum += count
	}
	require.EqualValues(t, number, sum, f.counts())
	t.Log(f.counts())
}

func (s *started) endsWarm() bool {
	s.end()
	return s.State().Warm
}

func zombie(pid int) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(raw), ") Z ")
}
