package insight

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/actiondata"
	"github.com/flyte-binary/flyte-binary/runs/lineage"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

const (
	maxFlowChildren = 500     // how many children are looked at
	maxFlowObject   = 1 << 20 // the most that is read of a child's inputs or outputs, in bytes; larger ones are skipped
	flowReads       = 16      // how many are read at once
)

// ChildReader reads an action and the data of its children; lists.Reader does.
type ChildReader interface {
	ActionRow(ctx context.Context, id ident.Action) (*schema.Action, error)
	ChildrenData(ctx context.Context, runID int64, parent string, limit int) ([]*schema.Action, error)
}

// DataFlow says which children of an action work with the outputs of which others.
type DataFlow struct {
	Actions ChildReader
	Objects actiondata.Objects
}

// ListDataFlow implements insightv1connect.InsightServiceHandler. The edges come from equal literals among the inputs
// and outputs of the children; the package lineage says what that can and cannot detect. Deleted data have no edges.
func (d *DataFlow) ListDataFlow(ctx context.Context, request *insightv1.ListDataFlowRequest) (*insightv1.ListDataFlowResponse, error) {
	parent, err := d.Actions.ActionRow(ctx, ident.ActionOf(request.GetActionId()))
	if err != nil {
		return nil, err
	}
	children, err := d.Actions.ChildrenData(ctx, parent.RunID, parent.Name, maxFlowChildren+1)
	if err != nil {
		return nil, err
	}
	response := &insightv1.ListDataFlowResponse{}
	// One more was read than is shown, which says whether there are more.
	if len(children) > maxFlowChildren {
		children, response.Truncated = children[:maxFlowChildren], true
	}
	edges, complete, err := d.flow(ctx, children)
	if err != nil {
		return nil, err
	}
	response.Truncated = response.GetTruncated() || !complete
	for _, edge := range edges {
		response.Edges = append(response.Edges, &insightv1.DataFlow{From: edge.From, To: edge.To, Variable: edge.Variable})
	}
	return response, nil
}

// flow reads the data of some actions, several at once, and joins them. It is complete unless something was too
// large to be looked at.
func (d *DataFlow) flow(ctx context.Context, actions []*schema.Action) (edges []lineage.Edge, complete bool, err error) {
	if len(actions) < 2 {
		return nil, true, nil
	}
	var (
		mu      sync.Mutex
		graph   = lineage.New() // GUARDED_BY(mu)
		skipped atomic.Bool
	)
	reads, reading := errgroup.WithContext(ctx)
	reads.SetLimit(flowReads)
	for _, a := range actions {
		reads.Go(func() error {
			var inputs task.Inputs
			var outputs task.Outputs
			for uri, target := range map[string]proto.Message{actiondata.InputsURI(a): &inputs, protomap.OutputsURI(a): &outputs} {
				passed, err := d.readSmall(reading, uri, target)
				if err != nil {
					return err
				}
				if passed {
					skipped.Store(true)
				}
			}
			// A condition has no file: its output is its signal.
			if err := actiondata.AddSignal(a, &outputs); err != nil {
				return err
			}
			in := lineage.Action{ID: a.ID, Name: a.Name, Created: a.CreatedAt}
			if a.EndedAt != nil {
				in.Ended = *a.EndedAt
			}
			mu.Lock()
			defer mu.Unlock()
			graph.Add(in, inputs.GetLiterals(), outputs.GetLiterals())
			return nil
		})
	}
	if err := reads.Wait(); err != nil {
		return nil, false, err
	}
	edges, more := graph.Edges()
	return edges, !more && !skipped.Load(), nil
}

// readSmall reads a message that may be missing. It skips a message that is too large, outside of the storage or not
// decodable: it is one of many.
func (d *DataFlow) readSmall(ctx context.Context, uri string, target proto.Message) (passed bool, err error) {
	_, err = actiondata.Read(ctx, d.Objects, uri, target, maxFlowObject)
	kind := rpc.KindOf(err)
	if kind == rpc.KindResourceExhausted || kind == rpc.KindDataLoss || errors.Is(err, blobstore.ErrForbiddenPath) {
		return true, nil
	}
	return false, err
}
