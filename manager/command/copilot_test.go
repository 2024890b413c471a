package command_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
)

// Runs download and sidecar in the order of a pod: sidecar, download, container, SIGTERM.
func TestCopilotTransfersInputsAndOutputs(t *testing.T) {
	store, in, out, stage := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	attempt := store + "/run/a0/1"
	storage := `--storage={"url":"` + store + `","sync":false,"s3":{"pathStyle":true}}`
	integer := func(n int64) *core.Literal {
		return &core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{Value: &core.Scalar_Primitive{
			Primitive: &core.Primitive{Value: &core.Primitive_Integer{Integer: n}},
		}}}}
	}
	inputs, err := proto.Marshal(&task.Inputs{Literals: []*task.NamedLiteral{{Name: "x", Value: integer(41)}}})
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(store+"/run/inputs", 0o755))
	require.NoError(t, os.WriteFile(store+"/run/inputs/inputs.pb", inputs, 0o600))
	declared, err := proto.Marshal(&core.VariableMap{Variables: []*core.VariableEntry{{
		Key: "y", Value: &core.Variable{Type: &core.LiteralType{Type: &core.LiteralType_Simple{Simple: core.SimpleType_INTEGER}}},
	}}})
	require.NoError(t, err)

	sidecar := make(chan error, 1)
	go func() {
		_, err := run(t, "copilot", "sidecar", storage, "--attempt="+attempt, "--dir="+out, "--stage="+stage, "--raw="+attempt,
			"--outputs="+base64.StdEncoding.EncodeToString(declared), "--timeout=1m")
		sidecar <- err
	}()
	_, err = run(t, "copilot", "download", storage, "--attempt="+attempt, "--dir="+in, "--inputs="+store+"/run/inputs",
		"--format=JSON", "--layout=DIRECT", "--await-sidecar", "--stage="+stage)
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(in, "inputs.json"))
	require.NoError(t, os.WriteFile(filepath.Join(out, "y"), []byte("42\n"), 0o600))
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGTERM)) // the download has seen that the sidecar handles signals
	select {
	case err := <-sidecar:
		require.NoError(t, err)
	case <-time.After(20 * time.Second):
		require.Fail(t, "the sidecar did not exit")
	}
	body, err := os.ReadFile(attempt + "/outputs.pb")
	require.NoError(t, err)
	outputs := &task.Outputs{}
	require.NoError(t, proto.Unmarshal(body, outputs))
	require.True(t, proto.Equal(integer(42), outputs.Literals[0].Value))
}

func TestCopilotReportsItsError(t *testing.T) {
	store, in := t.TempDir(), t.TempDir()
	_, err := run(t, "copilot", "download", `--storage={"url":"`+store+`"}`, "--attempt="+store+"/run/a0/1", "--dir="+in, "--inputs="+store+"/gone")
	require.ErrorContains(t, err, "are gone")
	body, err := os.ReadFile(store + "/run/a0/1/error.pb")
	require.NoError(t, err)
	document := &core.ErrorDocument{}
	require.NoError(t, proto.Unmarshal(body, document))
	require.Equal(t, "InputUnavailable", document.GetError().GetCode())

	_, err = run(t, "copilot", "download", `--storage={"url":"`+store+`","password":"x"}`)
	require.ErrorContains(t, err, "--storage")
}
