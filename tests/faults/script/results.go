package script

import (
	"fmt"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
)

// Outputs are those of a node that saw some children end.
func (n Node) Outputs(seen int) *task.Outputs {
	outputs := &task.Outputs{Literals: []*task.NamedLiteral{{Name: OutputName, Value: Text(fmt.Sprintf("%d of %s", seen, n.Tenant.Content))}}}
	if n.Artifact != "" {
		outputs.ProducedArtifacts = []*task.ProducedArtifact{{
			Output: OutputName, Name: n.Artifact,
			Type: &core.LiteralType{Type: &core.LiteralType_Simple{Simple: core.SimpleType_STRING}},
		}}
	}
	return outputs
}

// Failure is the error that a node leaves.
func (n Node) Failure() *core.ErrorDocument {
	kind := core.ContainerError_RECOVERABLE
	if n.Fatal {
		kind = core.ContainerError_NON_RECOVERABLE
	}
	return &core.ErrorDocument{Error: &core.ContainerError{
		Code: "Wanted", Message: "the script of " + n.Tenant.Content + " wants it", Kind: kind, Origin: core.ExecutionError_USER,
	}}
}

// WriteFile stores a message as the SDK does, straight into the store. It creates the directory.
func WriteFile(path string, message proto.Message) error {
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".*")
	if err != nil {
		return err
	}
	_, err = file.Write(body)
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Chmod(file.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // what is left of it
	}
	return err
}
