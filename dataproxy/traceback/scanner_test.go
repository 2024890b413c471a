package traceback_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/dataproxy/traceback"
)

const chained = `scoring 2
[flyte] ERROR Task failed with error: no weight for latam
Traceback (most recent call last):
  File "/code/r1/a0/././score.py", line 13, in score
    return float(shard) * weight(region)
                          ^^^^^^^^^^^^^^
  File "/code/r1/a0/././score.py", line 7, in weight
    return REGIONS[region]
           ~~~~~~~^^^^^^^^
KeyError: 'latam'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/venv/lib/python3.11/site-packages/flyte/_task.py", line 711, in execute
    v = await self.func(*args, **kwargs)
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/code/r1/a0/././score.py", line 15, in score
    raise ValueError(f"no weight for {region}") from e
ValueError: no weight for latam
[flyte] ERROR Task failed`

func scan(code, log string) (traceback.Chain, bool) {
	s := traceback.NewScanner(code)
	for line := range strings.SplitSeq(log, "\n") {
		s.Line(line)
	}
	return s.Found()
}

func TestAChainOfExceptions(t *testing.T) {
	chain, ok := scan("ValueError", chained)
	require.True(t, ok)
	require.Equal(t, traceback.Chain{Line: 2, Exceptions: []traceback.Exception{
		{Type: "ValueError", Message: "no weight for latam", Frames: []traceback.Frame{
			{File: "/venv/lib/python3.11/site-packages/flyte/_task.py", Line: 711, Function: "execute", Code: "v = await self.func(*args, **kwargs)"},
			{File: "score.py", Line: 15, Function: "score", Code: `raise ValueError(f"no weight for {region}") from e`, Own: true},
		}},
		{Type: "KeyError", Message: "'latam'", Relation: traceback.Cause, Frames: []traceback.Frame{
			{File: "score.py", Line: 13, Function: "score", Code: "return float(shard) * weight(region)", Own: true},
			{File: "score.py", Line: 7, Function: "weight", Code: "return REGIONS[region]", Own: true},
		}},
	}}, chain)
}

func TestTheWantedExceptionWins(t *testing.T) {
	later := chained + "\nTraceback (most recent call last):\n  File \"/app/atexit.py\", line 1, in bye\n    x()\nOSError: gone\n"
	chain, _ := scan("ValueError", later)
	require.Equal(t, "ValueError", chain.Exceptions[0].Type)
	chain, _ = scan("TypeError", later)
	require.Equal(t, "OSError", chain.Exceptions[0].Type, "the last one, if none is the wanted one")
	require.Len(t, chain.Exceptions, 1, "it has no cause")
	chain, _ = scan("", strings.ReplaceAll(later, "OSError", "my.errors.Gone"))
	require.Equal(t, "my.errors.Gone", chain.Exceptions[0].Type)
}

func TestContextIsNoCause(t *testing.T) {
	chain, _ := scan("", strings.ReplaceAll(chained, "The above exception was the direct cause of the following exception:",
		"During handling of the above exception, another exception occurred:"))
	require.Equal(t, traceback.Context, chain.Exceptions[1].Relation)
}

func TestLogsWithoutACompleteTraceback(t *testing.T) {
	for name, log := range map[string]string{
		"empty": "", "no traceback": "hello\nValueError: no", "cut off": "Traceback (most recent call last):\n  File \"a.py\", line 1, in x",
		"a header alone": "Traceback (most recent call last):",
	} {
		t.Run(name, func(t *testing.T) {
			_, ok := scan("ValueError", log)
			require.False(t, ok)
		})
	}
}

func TestASyntaxErrorHasNoFunction(t *testing.T) {
	chain, ok := scan("SyntaxError", "Traceback (most recent call last):\n  File \"/code/./job.py\", line 3\n    def x(:\n          ^\nSyntaxError: invalid syntax")
	require.True(t, ok)
	require.Equal(t, []traceback.Frame{{File: "job.py", Line: 3, Code: "def x(:", Own: true}}, chain.Exceptions[0].Frames)
}

// TestBounds: what a task writes does not decide how much memory the server needs.
func TestBounds(t *testing.T) {
	var log strings.Builder
	for i := range 50 {
		log.WriteString("Traceback (most recent call last):\n")
		for j := range 300 {
			fmt.Fprintf(&log, "  File \"a.py\", line %d, in f\n    %s\n", j, strings.Repeat("x", 3000))
		}
		fmt.Fprintf(&log, "Error%d: no\n\nDuring handling of the above exception, another exception occurred:\n\n", i)
	}
	chain, ok := scan("", log.String())
	require.True(t, ok)
	require.Len(t, chain.Exceptions, 20)
	require.Equal(t, "Error49", chain.Exceptions[0].Type)
	require.Len(t, chain.Exceptions[0].Frames, 100)
	require.Equal(t, 299, chain.Exceptions[0].Frames[99].Line)
	require.Less(t, len(chain.Exceptions[0].Frames[0].Code), 1100)
}

func FuzzScanner(f *testing.F) {
	f.Add("ValueError", chained)
	f.Fuzz(func(t *testing.T, code, log string) {
		if chain, ok := scan(code, log); ok {
			require.NotEmpty(t, chain.Exceptions)
			require.GreaterOrEqual(t, chain.Line, 0)
		}
	})
}
