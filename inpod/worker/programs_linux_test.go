package worker

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	workerv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1"
)

// programs are small programs of the kinds that people publish. edges are those that a fork would change, or almost.
var (
	//go:embed testdata/programs.py
	programs100 string
	//go:embed testdata/edges.py
	edges string
)

// program is one of them. slow are words of the reason why its code cannot be loaded before a fork; empty if it can.
type program struct{ name, slow, code string }

func programsOf(text string) (found []program) {
	for _, part := range strings.Split(text, "\n#: ")[1:] {
		title, code, _ := strings.Cut(part, "\n")
		name, slow, _ := strings.Cut(title, " slow: ")
		found = append(found, program{name, slow, code})
	}
	return found
}

// TestProgramsOnTheFastPath runs programs twice from a process with their code and once in an interpreter of its own, and compares what they say.
func TestProgramsOnTheFastPath(t *testing.T) {
	published := programsOf(programs100)
	require.GreaterOrEqual(t, len(published), 100)
	slow := 0
	f := newFixture(t)
	for i, p := range append(published, programsOf(edges)...) {
		if p.slow != "" && i < len(published) {
			slow++
		}
		t.Run(strings.ReplaceAll(p.name, " ", "-"), func(t *testing.T) { sameResults(t, f, int64(3*i), p) })
	}
	t.Logf("%d of %d published programs are loaded before the fork", len(published)-slow, len(published))
	require.LessOrEqual(t, 100*slow, 5*len(published))
}

func sameResults(t *testing.T, f *fixture, uid int64, p program) {
	t.Helper()
	code := f.bundle("tasks", p.code+`
import flyte
flyte_env = flyte.TaskEnvironment(name="w")
@flyte_env.task
def said() -> str:
    return repr(value())
`)
	var outputs []string
	for again := range 2 {
		uid++
		f.assign(uid, code, "tasks", "said")
		ended := f.ended(uid)
		require.Equal(t, workerv1.End_END_EXITED, ended.GetEnd(), ended.GetMessage())
		require.True(t, ended.GetWarm())
		if again > 0 || p.slow == "" { // what is compared is the same in the attempt for which the code was loaded
			require.Contains(t, ended.GetSlowStart(), p.slow)
			require.Equal(t, p.slow == "", ended.GetSlowStart() == "", ended.GetSlowStart())
		}
		outputs = append(outputs, f.outputs(uid)["o0"])
	}
	uid++
	// Another seed of hashes needs an interpreter of its own, as in a pod.
	f.assign(uid, code, "tasks", "said", func(a *workerv1.Assignment) { a.Env["PYTHONHASHSEED"] = "1" })
	ended := f.ended(uid)
	require.False(t, ended.GetWarm())
	slow := f.outputs(uid)["o0"]
	require.NotEmpty(t, slow, f.log(uid))
	require.Equal(t, []string{slow, slow}, outputs, f.log(uid-1))
}
