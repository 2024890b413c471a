package runs

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/ident"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
	"github.com/flyte-binary/flyte-binary/runs/dataflow"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/view"
)

const (
	maxFlowChildren = 500     // how many children are looked at
	maxFlowObject   = 1 << 20 // the most that is read of one child's inputs or outputs, in bytes; larger ones are passed over
	flowReads       = 16      // how many are read at once
)

// ListDataFlow implements insightv1connect.InsightServiceHandler. The edges are found by what the children's inputs and
// outputs have in common; see the package dataflow for what that can and cannot tell. Data that are gone have no edges.
func (h *insightHandler) ListDataFlow(ctx context.Context, request *insightv1.ListDataFlowRequest) (*insightv1.ListDataFlowResponse, error) {
	s := h.svc
	parent, err := s.lists.ActionRow(ctx, ident.ActionOf(request.GetActionId()))
	if err != nil {
		return nil, err
	}
	children, err := s.lists.ChildrenData(ctx, parent.RunID, parent.Name, maxFlowChildren+1)
	if err != nil {
		return nil, err
	}
	response := &insightv1.ListDataFlowResponse{}
	if len(children) > maxFlowChildren {
		children, response.Truncated = children[:maxFlowChildren], true
	}
	edges, complete, err := s.dataFlow(ctx, children)
	if err != nil {
		return nil, err
	}
	response.Truncated = response.GetTruncated() || !complete
	for _, edge := range edges {
		response.Edges = append(response.Edges, &insightv1.DataFlow{From: edge.From, To: edge.To, Variable: edge.Variable})
	}
	return response, nil
}

// dataFlow reads the data of some actions, several at once, and joins them. It is complete unless something was too
// large to be looked at.
func (s *Service) dataFlow(ctx context.Context, actions []*store.Action) (edges []dataflow.Edge, complete bool, err error) {
	if len(actions) < 2 {
		return nil, true, nil
	}
	var (
		mu      sync.Mutex
		graph   = dataflow.New() // GUARDED_BY(mu)
		skipped atomic.Bool
	)
	reads, reading := errgroup.WithContext(ctx)
	reads.SetLimit(flowReads)
	for _, a := range actions {
		reads.Go(func() error {
			var inputs task.Inputs
			var outputs task.Outputs
			for uri, target := range map[string]proto.Message{inputsURI(a): &inputs, view.OutputsURI(a): &outputs} {
				passed, err := s.readSmall(reading, uri, target)
				if err != nil {
					return err
				}
				if passed {
					skipped.Store(true)
				}
			}
			if len(a.Signal) > 0 {
				if err := addSignal(a, &outputs); err != nil {
					return err
				}
			}
			in := dataflow.Action{ID: a.ID, Name: a.Name, Created: a.CreatedAt}
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

// readSmall reads a message that may be missing. What is too large, lies elsewhere or is no such message is passed over:
// it is one of many.
func (s *Service) readSmall(ctx context.Context, uri string, target proto.Message) (passed bool, err error) {
	_, err = s.readMessageUpTo(ctx, uri, target, maxFlowObject)
	kind := rpc.KindOf(err)
	if kind == rpc.KindResourceExhausted || kind == rpc.KindDataLoss || errors.Is(err, blobstore.ErrForbiddenPath) {
		return true, nil
	}
	return false, err
}
