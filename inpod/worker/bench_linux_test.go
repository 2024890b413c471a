package worker

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	workerv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1"
)

// BenchmarkTasks runs trivial tasks, one at a time in a process of its own. cpu-ms/task is the CPU time of the processes of
// Python; all-cpu-ms/task is with the worker's and the test's server.
func BenchmarkTasks(b *testing.B) { benchmark(b, 1, "def good() -> str:", func(*Config) {}, "") }

// BenchmarkCoroutines runs trivial async tasks, ten at a time in one process.
func BenchmarkCoroutines(b *testing.B) {
	benchmark(b, 10, "async def good() -> str:", func(*Config) {}, "")
}

// BenchmarkTasksOfPandas runs trivial tasks whose file imports pandas and scikit-learn at its top, in the environment that `make differential`
// makes. The goal is 60 cpu-ms/task (docs/reusable-environments.md).
func BenchmarkTasksOfPandas(b *testing.B) {
	benchmark(b, 1, "def good() -> str:", withScikitLearn(b), "import pandas\nimport sklearn.linear_model\n")
}

func benchmark(b *testing.B, slots int64, head string, change func(*Config), imports string) {
	f := newFixture(b, func(c *Config) { c.Concurrency = uint32(slots) }, change)
	code := f.bundle("tasks", imports+"import flyte\nenv = flyte.TaskEnvironment(name='w')\n@env.task\n"+head+"\n    return 'done'\n")
	f.assign(1, code, "tasks", "good") // loads the code
	require.Equal(b, workerv1.End_END_EXITED, f.ended(1).GetEnd())
	cpu, own := cpuBelow(b), cpuOf(b, syscall.RUSAGE_SELF)
	b.ResetTimer()
	for next, last := int64(2), int64(2); last < int64(b.N)+2; {
		for next < int64(b.N)+2 && next < last+slots {
			f.assign(next, code, "tasks", "good")
			next++
		}
		require.Zero(b, f.ended(last).GetCode(), f.log(last))
		last++
	}
	b.StopTimer()
	for uid := int64(2); uid < int64(b.N)+2; uid++ {
		require.Equal(b, "done", f.outputs(uid)["o0"])
	}
	cpu, own = cpuBelow(b)-cpu, cpuOf(b, syscall.RUSAGE_SELF)-own
	b.ReportMetric(float64(cpu)/float64(time.Millisecond)/float64(b.N), "cpu-ms/task")
	b.ReportMetric(float64(cpu+own)/float64(time.Millisecond)/float64(b.N), "all-cpu-ms/task")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
}

func cpuOf(b *testing.B, who int) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(who, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// cpuBelow is the CPU time of all descendants of this process, and of those that they have waited for.
func cpuBelow(b *testing.B) time.Duration {
	b.Helper()
	var ticks int64
	var visit func(pid int)
	visit = func(pid int) {
		for _, child := range childrenOf(pid) {
			text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(child), "stat"))
			if err != nil {
				continue
			}
			_, rest, _ := cutLast(string(text), ") ")
			for _, field := range strings.Fields(rest)[11:15] { // utime, stime, cutime, cstime
				n, err := strconv.ParseInt(field, 10, 64)
				require.NoError(b, err)
				ticks += n
			}
			visit(child)
		}
	}
	visit(os.Getpid())
	return time.Duration(ticks) * 10 * time.Millisecond
}
