package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

// write stores a message as the SDK does, straight into the store. A full disk is waited out: a task that cannot even
// write its error would look like one that failed by itself.
func write(ctx context.Context, path string, message proto.Message) error {
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	if err != nil {
		return err
	}
	for {
		err := writeFile(path, body)
		if err == nil || !sleep(ctx, 100*time.Millisecond) {
			return err
		}
	}
}

func writeFile(path string, body []byte) error {
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

func (p *taskProcess) fail(ctx context.Context) error {
	kind := core.ContainerError_RECOVERABLE
	if p.node.Fatal {
		kind = core.ContainerError_NON_RECOVERABLE
	}
	return write(ctx, filepath.Join(p.output, "error.pb"), &core.ErrorDocument{Error: &core.ContainerError{
		Code: "Wanted", Message: "the script of " + p.node.Tenant.Content + " wants it", Kind: kind, Origin: core.ExecutionError_USER,
	}})
}

func (p *taskProcess) succeed(ctx context.Context, seen map[string]int32) error {
	outputs := &task.Outputs{Literals: []*task.NamedLiteral{{Name: script.OutputName, Value: script.Text(fmt.Sprintf("%d of %s", len(seen), p.node.Tenant.Content))}}}
	if p.node.Artifact != "" {
		outputs.ProducedArtifacts = []*task.ProducedArtifact{{
			Output: script.OutputName, Name: p.node.Artifact,
			Type: &core.LiteralType{Type: &core.LiteralType_Simple{Simple: core.SimpleType_STRING}},
		}}
	}
	return write(ctx, filepath.Join(p.output, "outputs.pb"), outputs)
}
