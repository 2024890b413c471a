package change

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// Storage reads the type of an action and the digest of its spec; worklists.LiveReader does.
type Storage interface {
	Storage(ctx context.Context, id ident.Action) (worklists.Storage, error)
}

// Specs reads encoded specs; lists.Reader does.
type Specs interface {
	Spec(ctx context.Context, digest []byte) ([]byte, error)
}

// Conditions checks the values for conditions. Both fields are required.
type Conditions struct {
	Storage Storage
	Specs   Specs
}

// check compares the type of a value with that of the condition. The type never changes, so the result still holds
// when the value is stored; the store checks whether the condition waits.
func (c *Conditions) check(ctx context.Context, field string, action ident.Action, value *core.Literal) error {
	at, err := c.Storage.Storage(ctx, action)
	if err != nil {
		return err
	}
	if workflow.ActionType(at.ActionType) != workflow.ActionType_ACTION_TYPE_CONDITION {
		return rpc.FailedPrecondition("action %s is not a condition", action)
	}
	body, err := c.Specs.Spec(ctx, at.SpecDigest)
	if err != nil {
		return err
	}
	var condition workflow.ConditionAction
	if err := proto.Unmarshal(body, &condition); err != nil {
		return rpc.DataLoss(err, "the stored condition %s cannot be read", action)
	}
	if got, want := protomap.SimpleType(value), condition.GetType().GetSimple(); got != want {
		return rpc.InvalidArgument(field, "the condition %s requires a value of type %s, got %s", action, want, got)
	}
	return nil
}
