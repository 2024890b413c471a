package insight

import (
	"context"

	"golang.org/x/sync/errgroup"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/actiondata"
	"github.com/flyte-binary/flyte-binary/runs/inputpreview"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

const (
	maxDescribed  = 500 // how many actions one call may request
	describeReads = 16  // how many files are read at once
)

// DescribedReader finds where actions have their inputs; lists.Reader does.
type DescribedReader interface {
	BirthReader
	ActionInputs(ctx context.Context, runID int64, ids []int64) ([]*schema.Action, error)
}

// Describer says in short what actions were given.
type Describer struct {
	Actions DescribedReader
	Inputs  *inputpreview.Reader
}

// DescribeActions implements insightv1connect.InsightServiceHandler. It skips numbers without an action, and counts a
// repeated number once.
func (d *Describer) DescribeActions(ctx context.Context, request *insightv1.DescribeActionsRequest) (*insightv1.DescribeActionsResponse, error) {
	switch n := len(request.GetNumbers()); {
	case n == 0:
		return nil, rpc.InvalidArgument("numbers", "must name at least one action")
	case n > maxDescribed:
		return nil, rpc.InvalidArgument("numbers", "may name at most %d actions, got %d", maxDescribed, n)
	}
	birth, err := d.Actions.RunBirth(ctx, ident.RunOf(request.GetRunId()))
	if err != nil {
		return nil, err
	}
	rows, err := d.Actions.ActionInputs(ctx, birth.RunID, idsByNumber(birth.RunID, request.GetNumbers()))
	if err != nil {
		return nil, err
	}
	response := &insightv1.DescribeActionsResponse{Actions: make([]*insightv1.ActionDescription, len(rows))}
	reads, reading := errgroup.WithContext(ctx)
	reads.SetLimit(describeReads)
	for i, row := range rows {
		reads.Go(func() error {
			preview, err := d.Inputs.Read(reading, row.ID, actiondata.InputsURI(row))
			response.Actions[i] = &insightv1.ActionDescription{
				Number: uint32(row.ID - birth.RunID), //nolint:gosec // as it was asked for
				Inputs: preview.Inputs, Truncated: preview.Truncated, Missing: preview.Missing,
			}
			return err
		})
	}
	return response, reads.Wait()
}

// idsByNumber are the ids of actions by their numbers, which are distances from the root's id.
func idsByNumber(runID int64, numbers []uint32) []int64 {
	ids := make([]int64, 0, len(numbers))
	for _, number := range numbers {
		ids = append(ids, runID+int64(number))
	}
	return ids
}
