package warm_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/demo/node/warm"
)

// BenchmarkForks is how fast one parent forks tasks that end at once, by how many ask at the same time. FLYTE_BENCH_PYTHON is an
// interpreter that has the SDK; without it the parent has imported a stand-in, and its forks are cheaper than real ones.
func BenchmarkForks(b *testing.B) {
	forkers := 1
	if n, err := strconv.Atoi(os.Getenv("FLYTE_BENCH_FORKERS")); err == nil {
		forkers = n
	}
	for _, callers := range []int{1, 8, 32} {
		b.Run(fmt.Sprint("callers=", callers), func(b *testing.B) {
			f := newFixture(b, "import os\nos._exit(0)\n", func(c *warm.Config) {
				c.Executable = "/bin/true" // in place of the shim
				c.Forkers, c.Stall = forkers, c.Ready
			})
			if interpreter := os.Getenv("FLYTE_BENCH_PYTHON"); interpreter != "" {
				require.NoError(b, os.WriteFile(f.script, []byte("#!"+interpreter+"\nimport os\nos._exit(0)\n"), 0o755))
				require.NoError(b, os.RemoveAll(filepath.Join(f.library, "flyte")))
			}
			r := warm.Request{Path: f.script, Home: filepath.Join(f.dir, "home"), Env: []string{
				"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(f.dir, "home"), "PYTHONPATH=" + f.library,
			}}
			require.NotNil(b, f.pool.Find(b.Context(), nil, r))
			var waited atomic.Int64
			before := f.cpuOfParent()
			began := time.Now()
			asked := make(chan struct{})
			var group sync.WaitGroup
			for range callers {
				group.Go(func() {
					for range asked {
						at := time.Now()
						if fork := f.pool.Find(b.Context(), nil, r); fork == nil {
							b.Error("no parent")
						} else if err := forkOnce(fork); err != nil {
							b.Error(err)
						}
						waited.Add(int64(time.Since(at)))
					}
				})
			}
			for b.Loop() {
				asked <- struct{}{}
			}
			close(asked)
			group.Wait()
			took := time.Since(began)
			b.ReportMetric(float64(b.N)/took.Seconds(), "forks/s")
			b.ReportMetric(float64(waited.Load())/1e6/float64(b.N), "ms-until-forked")
			if forkers == 1 {
				b.ReportMetric(float64(f.cpuOfParent()-before)/1e6/float64(b.N), "ms-CPU-of-parent/fork")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// forkOnce asks for a fork whose shim has nothing to read.
func forkOnce(fork *warm.Fork) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = null.Close() }()
	return fork.Fork(null, null, null, null)
}

// TestSeveralProcessesFork shows that each process of a parent forks tasks, and that none outlives the parent.
func TestSeveralProcessesFork(t *testing.T) {
	f := newFixture(t, `
import os
print("by", open(f"/proc/{os.getppid()}/stat").read().rpartition(")")[2].split()[1])
`, func(c *warm.Config) { c.Forkers = 3 })
	var mu sync.Mutex
	by := map[string]bool{}
	var group sync.WaitGroup
	for range 24 {
		group.Go(func() {
			one := f.start(true, nil)
			if code := one.end().ExitCode; code != 0 {
				t.Errorf("it ended with %d: %s", code, one.log())
			} else {
				mu.Lock()
				defer mu.Unlock()
				by[strings.TrimSpace(strings.TrimPrefix(one.log(), "by "))] = true
			}
		})
	}
	group.Wait()
	require.Equal(t, "warm 24", f.counts())
	require.Contains(t, by, strconv.Itoa(f.parent()))
	require.Greater(t, len(by), 1, "all tasks were forked by one process")
	require.LessOrEqual(t, len(by), 3)
	require.NoError(t, syscall.Kill(f.parent(), syscall.SIGKILL))
	require.Eventually(t, func() bool {
		for pid := range by {
			if line, err := os.ReadFile("/proc/" + pid + "/cmdline"); err == nil && len(line) > 0 {
				return false
			}
		}
		return true
	}, 30*time.Second, 5*time.Millisecond, "a process that forks has outlived the parent")
}

// cpuOfParent is the CPU time of the process that others are forked from.
func (f *fixture) cpuOfParent() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", f.parent()))
	require.NoError(f.t, err)
	used, _, _ := strings.Cut(string(text), " ")
	ns, err := strconv.ParseInt(used, 10, 64)
	require.NoError(f.t, err)
	return time.Duration(ns)
}
