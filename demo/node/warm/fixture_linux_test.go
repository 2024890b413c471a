package warm_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/demo/node/process"
	"github.com/flyte-binary/flyte-binary/demo/node/shim"
	_ "github.com/flyte-binary/flyte-binary/demo/node/shim/early" // this binary is the shim, too
	"github.com/flyte-binary/flyte-binary/demo/node/warm"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// python is the real interpreter of this machine: not a wrapper, which the first line of a script could not name.
var python = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	return strings.TrimSpace(string(out)), err
})

// fixture is a Python environment whose SDK is a small stand-in, with a pool of parents.
type fixture struct {
	t        testing.TB
	pool     *warm.Pool
	launcher process.Launcher
	dir      string // of everything
	script   string // the entry point
	library  string // modules
	number   atomic.Int32
}

// newFixture makes an environment whose entry point is the code, run by the interpreter.
func newFixture(t testing.TB, code string, change ...func(*warm.Config)) *fixture {
	t.Helper()
	interpreter, err := python()
	if err != nil {
		t.Skip("no python3 on this machine")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	f := &fixture{t: t, dir: t.TempDir(), launcher: process.Launcher{Executable: self, MemoryInterval: 10 * time.Millisecond}}
	f.script, f.library = filepath.Join(f.dir, "bin", "a0"), filepath.Join(f.dir, "lib")
	for _, dir := range []string{"bin", "lib/flyte", "home"} {
		require.NoError(t, os.MkdirAll(filepath.Join(f.dir, dir), 0o755))
	}
	f.write("lib/flyte/__init__.py", "")
	require.NoError(t, os.WriteFile(f.script, []byte("#!"+interpreter+"\n"+code), 0o755))
	cfg := warm.DefaultConfig()
	cfg.Dir, cfg.Executable, cfg.Forkers = filepath.Join(f.dir, "warm"), self, 1
	for _, f := range change {
		f(&cfg)
	}
	f.pool, err = warm.New(cfg, zerolog.New(zerolog.NewTestWriter(t)), clock.System{})
	require.NoError(t, err)
	t.Cleanup(f.pool.Stop)
	return f
}

func (f *fixture) write(name, text string) {
	f.t.Helper()
	require.NoError(f.t, os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600))
}

// started is a process of the environment.
type started struct {
	*process.Process
	f   *fixture
	dir string
}

// start starts the entry point, warm if wanted and possible.
func (f *fixture) start(warmly bool, change func(*process.Command), words ...string) *started {
	f.t.Helper()
	dir := filepath.Join(f.dir, "run-"+strconv.Itoa(int(f.number.Add(1))))
	require.NoError(f.t, os.Mkdir(dir, 0o700))
	command := process.Command{
		ID: dir, Path: f.script, Argv: append([]string{"a0"}, words...), Dir: dir,
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(f.dir, "home"), "PYTHONPATH=" + f.library, "PYTHONUNBUFFERED=1", "MINE=" + dir},
	}
	if change != nil {
		change(&command)
	}
	if warmly {
		r := warm.Request{Path: command.Path, Env: command.Env, Home: filepath.Join(f.dir, "home")}
		if fork := f.pool.Find(f.t.Context(), nil, r); fork != nil {
			command.Forker = fork
		}
	}
	p, err := f.launcher.Start(dir, command)
	require.NoError(f.t, err)
	f.t.Cleanup(func() {
		p.Kill()
		<-p.Done()
	})
	return &started{Process: p, f: f, dir: dir}
}

// end waits for the end of a process.
func (s *started) end() shim.State {
	s.f.t.Helper()
	select {
	case <-s.Done():
	case <-time.After(30 * time.Second):
		require.FailNow(s.f.t, "the process does not end", s.log())
	}
	return s.State()
}

var stamp = regexp.MustCompile(`(?m)^\S+ (stdout|stderr) [FP] `)

// log is the output without times.
func (s *started) log() string {
	raw, err := os.ReadFile(filepath.Join(s.dir, process.LogFile))
	require.NoError(s.f.t, err)
	return strings.ReplaceAll(stamp.ReplaceAllString(string(raw), ""), s.dir, "DIR")
}

// await waits until the process has written a line.
func (s *started) await(text string) {
	s.f.t.Helper()
	require.Eventually(s.f.t, func() bool { return strings.Contains(s.log(), text) }, 30*time.Second, 5*time.Millisecond, "no %q", text)
}

// counts are the pool's, as text.
func (f *fixture) counts() string {
	hot, cold := f.pool.Counts().Starts()
	text := fmt.Sprintf("warm %d", hot)
	for _, reason := range warm.Reasons() {
		if cold[reason] > 0 {
			text += fmt.Sprintf(", %s %d", reason, cold[reason])
		}
	}
	return text
}

// parent is the id of the parent that serves the environment.
func (f *fixture) parent() int {
	f.t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(f.t, err)
	for _, name := range names {
		line, err := os.ReadFile(name)
		if err == nil && strings.Contains(string(line), "warm parent of "+f.script) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			require.NoError(f.t, err)
			return pid
		}
	}
	return 0
}
