package verdict_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/attempts/verdict"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/pods/plugintest"
)

// returning is a task that returns a value.
func returning() *core.TaskTemplate {
	return &core.TaskTemplate{Interface: &core.TypedInterface{Outputs: &core.VariableMap{Variables: []*core.VariableEntry{{Key: "o0"}}}}}
}

// raw is one whose container knows nothing of outputs.
func raw() *core.TaskTemplate {
	template := returning()
	template.Target = &core.TaskTemplate_Container{Container: &core.Container{DataConfig: &core.DataLoadingConfig{Enabled: true}}}
	return template
}

func encoded(t *testing.T, reported *core.ContainerError) []byte {
	t.Helper()
	body, err := proto.Marshal(&core.ErrorDocument{Error: reported})
	require.NoError(t, err)
	return body
}

// TestWhatAUsersProgramCanDoAlone goes over what a task can leave behind without any fault of the system: each is the task's failure,
// once, and not one that the system repeats.
func TestWhatAUsersProgramCanDoAlone(t *testing.T) {
	failed := failure.New(failure.ContainerFailed, "exit code 3")
	huge := encoded(t, &core.ContainerError{
		Code: "ValueError", Message: "first" + strings.Repeat("x", 12_000_000) + "last", Kind: core.ContainerError_NON_RECOVERABLE, Origin: core.ExecutionError_USER,
	})
	for name, tc := range map[string]struct {
		template *core.TaskTemplate
		left     map[string][]byte
		end      verdict.End
		code     string
		class    failure.Class
		words    string
	}{
		"sys.exit(0) or os._exit(0) before it returns": {returning(), nil, verdict.End{}, "OutputsMissing", failure.User, "ended by itself"},
		"an error of 12 MB":                            {returning(), map[string][]byte{"error.pb": huge}, verdict.End{}, "ValueError", failure.User, "first"},
		"an error of 12 MB that is cut off":            {returning(), map[string][]byte{"error.pb": huge[:len(huge)-1000]}, verdict.End{}, "ErrorUnreadable", failure.User, "not a valid error document"},
		"an error document of garbage":                 {returning(), map[string][]byte{"error.pb": []byte("garbage")}, verdict.End{}, "ErrorUnreadable", failure.User, "not a valid error document"},
		"a large one":                                  {returning(), map[string][]byte{"error.pb": []byte(strings.Repeat("garbage", 1<<18))}, verdict.End{}, "ErrorUnreadable", failure.User, "not a valid error document"},
		"garbage, and an exit code":                    {returning(), map[string][]byte{"error.pb": []byte("garbage")}, verdict.End{Lost: failed}, "ContainerFailed", failure.User, "exit code 3"},
		"the co-pilot's own error, without a co-pilot": {returning(), map[string][]byte{"error.pb": encoded(t, &core.ContainerError{Code: "CopilotFailed", Origin: core.ExecutionError_SYSTEM})}, verdict.End{}, "CopilotFailed", failure.User, ""},

		// Not by the program alone:
		"a process that exits with 0 because its pod is deleted": {returning(), nil, verdict.End{Stopped: failure.New(failure.UnexpectedDeletion, "")}, "UnexpectedObjectDeletion", failure.System, "deleted"},
		"a co-pilot that wrote nothing":                          {raw(), nil, verdict.End{}, "CopilotFailed", failure.System, "there is no"},
	} {
		t.Run(name, func(t *testing.T) {
			store := &plugintest.Blobs{Objects: map[string][]byte{}}
			for file, body := range tc.left {
				store.Objects["dir/"+file] = body
			}
			lost, err := verdict.Of(t.Context(), store, tc.template, "dir", tc.end)
			require.NoError(t, err)
			require.NotNil(t, lost)
			require.Equal(t, tc.code, lost.Code)
			require.Equal(t, tc.class, lost.Class)
			require.Contains(t, lost.Message, tc.words)
			require.Less(t, len(lost.Message), 20<<10)
		})
	}
}

// TestALargeErrorKeepsWhatItSays: `raise ValueError("x" * 12_000_000)` ran four times and ended as a failure of the system.
func TestALargeErrorKeepsWhatItSays(t *testing.T) {
	want := &core.ContainerError{
		Code: "ValueError", Message: "first" + strings.Repeat("x", 12_000_000) + "last", Kind: core.ContainerError_NON_RECOVERABLE, Origin: core.ExecutionError_USER,
	}
	store := &plugintest.Blobs{Objects: map[string][]byte{"dir/error.pb": encoded(t, want)}}
	lost, err := verdict.Of(t.Context(), store, returning(), "dir", verdict.End{})
	require.NoError(t, err)
	require.Equal(t, "ValueError", lost.Code)
	require.False(t, lost.Recoverable, "the task says so, after its message")
	require.True(t, strings.HasPrefix(lost.Message, "first"))
	require.True(t, strings.HasSuffix(lost.Message, "last"))
}

// TestOutputsOfAGang: outputs of the process that writes them do not undo the failure of another one; a crash of its own after it
// wrote them does not count.
func TestOutputsOfAGang(t *testing.T) {
	failed := failure.New(failure.ContainerFailed, "exit code 3").In("worker pod w-1")
	store := &plugintest.Blobs{Objects: map[string][]byte{"dir/outputs.pb": {}}}
	lost, err := verdict.Of(t.Context(), store, returning(), "dir", verdict.End{Lost: failed, Others: true})
	require.NoError(t, err)
	require.Equal(t, failed, lost)
	lost, err = verdict.Of(t.Context(), store, returning(), "dir", verdict.End{Lost: failed})
	require.NoError(t, err)
	require.Nil(t, lost)

	store.Objects["dir/error.pb"] = encoded(t, &core.ContainerError{Code: "ValueError", Message: "bad"})
	lost, err = verdict.Of(t.Context(), store, returning(), "dir", verdict.End{Lost: failed, Others: true})
	require.NoError(t, err)
	require.Equal(t, "ValueError", lost.Code)
	require.Equal(t, "worker pod w-1: bad", lost.Message)
	require.Equal(t, "worker pod w-1", lost.Member)
}

// TestWhoseErrorDocument: what one process of a gang wrote is not why another one failed.
func TestWhoseErrorDocument(t *testing.T) {
	failed := failure.New(failure.ContainerFailed, "exit code 3").In("worker pod w-1")
	store := &plugintest.Blobs{Objects: map[string][]byte{
		"dir/error.pb": encoded(t, &core.ContainerError{Code: "Stopped"}), "own/error.pb": encoded(t, &core.ContainerError{Code: "ValueError"}),
	}}
	for want, end := range map[string]verdict.End{
		"Stopped":         {Lost: failed},
		"ValueError":      {Lost: failed, ErrorDir: "own", Others: true},
		"ContainerFailed": {Lost: failed, NoDocument: true, Others: true},
	} {
		lost, err := verdict.Of(t.Context(), store, returning(), "dir", end)
		require.NoError(t, err)
		require.Equal(t, want, lost.Code)
		require.Equal(t, "worker pod w-1", lost.Member)
	}
}

// breaks is a store whose streams break.
type breaks struct{ *plugintest.Blobs }

func (b breaks) NewReader(ctx context.Context, uri string) (io.ReadCloser, error) {
	whole, err := b.Blobs.NewReader(ctx, uri)
	return io.NopCloser(io.MultiReader(io.LimitReader(whole, 1<<20), broken{})), err
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

func TestAStoreThatBreaksSaysNothingOfTheTask(t *testing.T) {
	store := breaks{&plugintest.Blobs{Objects: map[string][]byte{"dir/error.pb": encoded(t, &core.ContainerError{Code: "E", Message: strings.Repeat("x", 4<<20)})}}}
	_, err := verdict.Of(t.Context(), store, returning(), "dir", verdict.End{})
	require.ErrorContains(t, err, "connection reset")
}

// TestFilesOfOtherKinds: what a task puts in the place of its documents, in a store that is a directory.
func TestFilesOfOtherKinds(t *testing.T) {
	root := t.TempDir()
	config := blobstore.DefaultConfig()
	config.URL = root
	store, err := blobstore.Open(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	dir := filepath.Join(root, "p", "d", "a")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "error.pb"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "outputs.pb"), 0o755))
	lost, err := verdict.Of(t.Context(), store, returning(), dir, verdict.End{})
	require.NoError(t, err)
	require.Equal(t, failure.OutputsMissing, lost.Reason, "directories are not documents")
	if os.Getuid() == 0 {
		return // root reads everything
	}
	require.NoError(t, os.Remove(filepath.Join(dir, "error.pb")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "error.pb"), []byte("mine"), 0))
	lost, err = verdict.Of(t.Context(), store, returning(), dir, verdict.End{})
	require.NoError(t, err)
	require.Equal(t, failure.ErrorUnreadable, lost.Reason)
}
