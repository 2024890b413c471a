package tracked

import (
	"context"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

// Storage locates the data of actions of tracked runs. Both fields are required.
type Storage struct {
	Rows RowReader
	// Root is the URI prefix of the object store.
	Root string
}

// GetActionStorage answers EngineService for tracked runs.
func (s *Storage) GetActionStorage(ctx context.Context, request *enginev1.GetActionStorageRequest) (*enginev1.GetActionStorageResponse, error) {
	id := ident.ActionOf(request.GetActionId())
	row, err := s.Rows.ActionRow(ctx, id)
	if err != nil {
		return nil, err
	}
	return &enginev1.GetActionStorageResponse{
		InputUri:      row.InputURI,
		RunOutputBase: blobpath.TrackedRun(s.Root, id.Run.Project, id.Run.Domain, id.Run.Name),
		Attempts:      uint32(row.Attempt), //nolint:gosec // counts from 1
		Finished:      state.Terminal(row.Phase),
		Phase:         common.ActionPhase(row.Phase),
		OutputUri:     protomap.OutputsURI(row),
	}, nil
}
