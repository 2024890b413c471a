// Package actiondata reads the inputs and outputs of actions from the object store.
package actiondata

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// signalOutput is the name that clients give to the only output of a condition.
const signalOutput = "o0"

// Objects reads whole objects of at most limit bytes, with the errors of blobstore; blobstore.Store does.
type Objects interface {
	ReadAll(ctx context.Context, uri string, limit int64) ([]byte, error)
}

// Read reads a message of at most limit bytes; false when uri is empty or there is no such object. It returns a
// ResourceExhausted error for a larger object, and a DataLoss error for one that is no such message.
func Read(ctx context.Context, objects Objects, uri string, target proto.Message, limit int64) (bool, error) {
	if uri == "" {
		return false, nil
	}
	body, err := objects.ReadAll(ctx, uri, limit)
	switch {
	case errors.Is(err, blobstore.ErrNotExist):
		return false, nil
	case errors.Is(err, blobstore.ErrTooLarge):
		return false, rpc.ResourceExhausted("%s is larger than %d bytes; read it from the object store", uri, limit)
	case err != nil:
		return false, rpc.Unavailable(err, "%s cannot be read from the object store", uri)
	}
	if err := proto.Unmarshal(body, target); err != nil {
		return false, rpc.DataLoss(err, "%s is not a %s", uri, target.ProtoReflect().Descriptor().Name())
	}
	return true, nil
}

// InputsURI is the file with the inputs of an action; empty when it has none.
func InputsURI(row *schema.Action) string {
	if row.InputURI == "" {
		return ""
	}
	return blobpath.InputsPath(row.InputURI)
}

// AddSignal adds the value of a signalled condition to its outputs, which no object has.
func AddSignal(row *schema.Action, outputs *task.Outputs) error {
	if len(row.Signal) == 0 {
		return nil
	}
	var signal workflow.SignalInfo
	if err := proto.Unmarshal(row.Signal, &signal); err != nil {
		return rpc.DataLoss(err, "the stored signal of action %s cannot be read", row.Name)
	}
	outputs.Literals = append(outputs.Literals, &task.NamedLiteral{Name: signalOutput, Value: signal.GetOutput()})
	return nil
}
