package worker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// slowExamples are words of the reasons why the code of files of examples/ cannot be loaded before a fork. A file that is not here is on the
// fast path.
var slowExamples = map[string]string{ //nolint:gochecknoglobals // a table
	"connector":     "it imports grpc",                          // a connector runs its tasks
	"image_builder": "the import of its code reads ACTION_NAME", // it copies the variables of installers; no task is in it
}

// operatorExamples have tasks that operators run, in pods of their own: no process is forked for them.
var operatorExamples = map[string]bool{ //nolint:gochecknoglobals // a table
	"dask_cluster": true, "ray_cluster": true, "torch_cluster": true,
}

// TestExamplesOnTheFastPath does with the files of examples/ what TestProgramsOnTheFastPath does with published programs. A file that can no
// longer be loaded before the fork makes it fail, unless slowExamples has the reason.
func TestExamplesOnTheFastPath(t *testing.T) {
	files, err := filepath.Glob("../../examples/*.py")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	f := newFixture(t)
	for i, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".py")
		if operatorExamples[name] {
			continue
		}
		code, err := os.ReadFile(file)
		require.NoError(t, err)
		t.Run(name, func(t *testing.T) {
			sameResults(t, f, int64(3*i), program{name, slowExamples[name], string(code) + "\n\ndef value(): return sorted(globals())\n"})
		})
	}
}
