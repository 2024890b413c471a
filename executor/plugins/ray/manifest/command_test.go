package manifest

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// submit does to a line what the pod that submits, the given version of `ray job submit`, and the head do to it.
const submit = `
import json, shlex, subprocess, sys
line, join = sys.argv[1], {"2.60": shlex.join, "2.9": subprocess.list2cmdline}[sys.argv[2]]
submitted = subprocess.run(["bash", "-c", "printf '%s\\0' " + line], capture_output=True, text=True, check=True).stdout.split("\0")[:-1]
sys.stdout.write(subprocess.run(join(submitted), shell=True, capture_output=True, text=True, check=True).stdout)
`

// TestTheHeadRunsTheWordsOfTheTask: their quotes, spaces and dollars were lost between the two shells.
func TestTheHeadRunsTheWordsOfTheTask(t *testing.T) {
	const show = "import json, sys; print(json.dumps(sys.argv[1:]))"
	words := []string{
		"--inputs", "s3://bucket/a b", "", "it's", `say "hi"`, "$HOME", "`date`", `back\slash`, `c:\`, "a;b", "*", "!", "$(id)", "line\nbreak", "ü",
	}
	given := []string{"python3", "-c", show}
	for _, word := range words {
		given = append(given, strings.ReplaceAll(word, "$", "$$")) // as the builder of pods escapes them
	}
	for _, version := range []string{"2.60", "2.9"} {
		out, err := exec.CommandContext(t.Context(), "python3", "-c", submit, command(given), version).Output()
		require.NoError(t, err, version)
		var got []string
		require.NoError(t, json.Unmarshal(out, &got), version)
		require.Equal(t, words, got, version)
	}
	require.Equal(t, "a0 --inputs s3://b/i.pb", command([]string{"a0", "--inputs", "s3://b/i.pb"}), "plain words stay readable")
	require.Equal(t, "a0 '$(HOME) x'", command([]string{"a0", "$(HOME) x"}), "Kubernetes expands variables in it")
}
