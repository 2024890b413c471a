package dataproxy_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/flyte-binary/flyte-binary/dataproxy"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

// codeBundle is an archive as clients make it.
func codeBundle(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	for name, body := range files {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(body))}))
		_, err := io.WriteString(w, body)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, zipped.Close())
	return out.Bytes()
}

func ranWith(args ...string) *workflow.ActionDetails {
	return &workflow.ActionDetails{Spec: &workflow.ActionDetails_Task{Task: &task.TaskSpec{TaskTemplate: &core.TaskTemplate{
		Id:     &core.Identifier{Name: "env.main"},
		Target: &core.TaskTemplate_Container{Container: &core.Container{Image: "python:3.12", Args: args}},
	}}}}
}

func (f *fixture) getCode(action, path string) (*insightv1.GetCodeResponse, error) {
	return f.code.GetCode(f.t.Context(), &insightv1.GetCodeRequest{ActionId: id(action), Path: path})
}

var loader = []string{"--resolver", "flyte._internal.resolvers.default.DefaultTaskResolver", "mod", "flows.basic", "instance", "main"}

func TestGetCode(t *testing.T) {
	f := newFixture(t)
	uri := f.store.Root() + "/uploads/flytesnacks/development/x/fast1.tar.gz"
	require.NoError(t, f.store.WriteAll(t.Context(), uri, codeBundle(t, map[string]string{
		"flows/basic.py": "import flyte\n\nasync def main(): ...\n", "flows/__init__.py": "",
	})))
	f.state.details["a0"] = ranWith(append([]string{"a0", "--inputs", "{{.input}}", "--tgz", uri, "--dest", "."}, loader...)...)

	got, err := f.getCode("a0", "")
	require.NoError(t, err)
	require.Equal(t, "flows/basic.py", got.GetPath())
	require.Equal(t, "import flyte\n\nasync def main(): ...\n", got.GetText())
	require.EqualValues(t, 3, got.GetLine())
	require.Equal(t, "main", got.GetFunction())
	require.Empty(t, got.GetMissing())
	require.Len(t, got.GetFiles(), 2)
	require.Equal(t, "flows/__init__.py", got.GetFiles()[0].GetPath())
	require.EqualValues(t, 36, got.GetFiles()[1].GetSize())

	got, err = f.getCode("a0", "flows/__init__.py")
	require.NoError(t, err)
	require.Equal(t, "flows/__init__.py", got.GetPath())
	require.Zero(t, got.GetLine())

	for _, path := range []string{"none.py", "../../../etc/passwd", "/etc/passwd"} {
		_, err = f.getCode("a0", path)
		require.Equal(t, connect.CodeNotFound, connect.CodeOf(err), path)
	}
	_, err = f.getCode("unknown", "")
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
	_, err = f.code.GetCode(t.Context(), &insightv1.GetCodeRequest{})
	refused(t, err, "action_id")

	// The pod template of a task has its arguments elsewhere.
	args := []any{"a0", "--tgz", uri}
	for _, arg := range loader {
		args = append(args, arg)
	}
	pod, err := structpb.NewStruct(map[string]any{"containers": []any{map[string]any{"name": "main", "args": args}}})
	require.NoError(t, err)
	f.state.details["pod"] = &workflow.ActionDetails{Spec: &workflow.ActionDetails_Task{Task: &task.TaskSpec{TaskTemplate: &core.TaskTemplate{
		Target: &core.TaskTemplate_K8SPod{K8SPod: &core.K8SPod{PodSpec: pod, PrimaryContainerName: "main"}},
	}}}}
	got, err = f.getCode("pod", "")
	require.NoError(t, err)
	require.Equal(t, "flows/basic.py", got.GetPath())

	// The module is part of the image; the files are listed all the same.
	f.state.details["image"] = ranWith("a0", "--tgz", uri, "--resolver", "r", "mod", "other", "instance", "f")
	got, err = f.getCode("image", "")
	require.NoError(t, err)
	require.Contains(t, got.GetMissing(), "other")
	require.Len(t, got.GetFiles(), 2)
}

func TestWhyThereIsNoCode(t *testing.T) {
	f := newFixture(t, func(c *dataproxy.Config) { c.Code.MaxBundleBytes = 1 << 20 })
	root := f.store.Root()
	uploads := root + "/uploads/flytesnacks/development/"
	require.NoError(t, f.store.WriteAll(t.Context(), uploads+"text", []byte("not an archive, but longer than a block of one"+string(make([]byte, 1000)))))
	require.NoError(t, f.store.WriteAll(t.Context(), uploads+"large", make([]byte, 1<<20+1)))
	require.NoError(t, f.store.WriteAll(t.Context(), uploads+"empty", codeBundle(t, nil)))
	require.NoError(t, f.store.WriteAll(t.Context(), root+"/secret.tgz", codeBundle(t, map[string]string{"secret": "s"})))
	for name, c := range map[string]struct {
		details *workflow.ActionDetails
		want    string
	}{
		"condition":     {&workflow.ActionDetails{Spec: &workflow.ActionDetails_Condition{Condition: &workflow.ConditionAction{}}}, "condition"},
		"trace":         {&workflow.ActionDetails{Spec: &workflow.ActionDetails_Trace{Trace: &task.TraceSpec{}}}, "parent"},
		"unknown":       {&workflow.ActionDetails{}, "not recorded"},
		"command":       {ranWith("sh", "-c", "true"), "command of its image"},
		"image":         {ranWith(append([]string{"a0"}, loader...)...), "python:3.12"},
		"pickle":        {ranWith("a0", "--pkl", uploads+"x.pkl.gz"), "pickled"},
		"gone":          {ranWith("a0", "--tgz", uploads+"none.tar.gz"), "no longer stored"},
		"text":          {ranWith("a0", "--tgz", uploads+"text"), "damaged"},
		"large":         {ranWith("a0", "--tgz", uploads+"large"), "1 MiB"},
		"empty":         {ranWith("a0", "--tgz", uploads+"empty"), "no files"},
		"not ours":      {ranWith("a0", "--tgz", "/etc/passwd"), "outside"},
		"not an upload": {ranWith("a0", "--tgz", root+"/secret.tgz"), "outside"},
		"climbing":      {ranWith("a0", "--tgz", root+"/uploads/../secret.tgz"), "outside"},
	} {
		t.Run(name, func(t *testing.T) {
			f.state.details["a"] = c.details
			got, err := f.getCode("a", "")
			require.NoError(t, err)
			require.Contains(t, got.GetMissing(), c.want)
			require.Empty(t, got.GetText())
			require.Empty(t, got.GetPath())
		})
	}
}

// An unreachable store is not reported as a missing bundle.
func TestGetCodeWithoutStore(t *testing.T) {
	f := newFixture(t)
	f.state.details["a0"] = ranWith("a0", "--tgz", f.store.Root()+"/uploads/p/d/x.tar.gz")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := f.code.GetCode(ctx, &insightv1.GetCodeRequest{ActionId: id("a0")})
	require.Error(t, err)
}
