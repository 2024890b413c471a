package watch

import (
	"context"

	"google.golang.org/protobuf/proto"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// Children streams the state of the direct children of an action: a snapshot, a sentinel, then changes in order. The
// end of a child is sent once, and nothing about the child after it. The sentinel is repeated as a heartbeat, and
// after a resync of a slow client.
func (s *Streams) Children(ctx context.Context, parent ident.Action, send func(*enginev1.WatchChildrenResponse) error) error {
	at, err := s.read.locate(ctx, parent)
	if err != nil {
		return err
	}
	sub, err := s.hub.Subscribe(at.RunID, at.LastSeq, ChildrenOf(parent.Name))
	if err != nil {
		return err
	}
	defer sub.Close()
	pace := s.pace()
	defer pace.Stop()

	c := childStream{streams: s, parent: parent, runID: at.RunID, base: at.OutputBase, send: send, sent: map[int64]sentChild{}}
	if err := c.snapshot(ctx, 0); err != nil {
		return err
	}
	return follow(ctx, pace, sub.Ready(), c.sentinel, func() (bool, error) { return false, c.forward(ctx, sub.Take()) })
}

// childStream is one stream of Children.
type childStream struct {
	streams *Streams
	parent  ident.Action
	runID   int64
	base    string // where attempts of the run write
	send    func(*enginev1.WatchChildrenResponse) error
	sent    map[int64]sentChild
}

// sentChild is what the client knows of a child. A change that the snapshot contained, or that keeps the phase, is
// not sent again; after the end nothing is sent.
type sentChild struct {
	seq   int64
	phase common.ActionPhase
}

// snapshot sends the children that changed after since, then the sentinel. The pages follow the ids of the children, so
// a child that is created meanwhile is in a later page or in the log.
func (c *childStream) snapshot(ctx context.Context, since int64) error {
	limit := c.streams.cfg.Page
	var after int64
	for {
		rows, err := c.streams.read.children(ctx, c.runID, c.parent.Name, since, after, limit)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if err := c.update(row); err != nil {
				return err
			}
			after = row.ID
		}
		if len(rows) < limit {
			return c.sentinel()
		}
	}
}

func (c *childStream) forward(ctx context.Context, taken Taken) error {
	if taken.Lagged {
		return c.snapshot(ctx, taken.Since)
	}
	for _, change := range taken.Changes {
		if err := c.update(&change.Row.Action); err != nil {
			return err
		}
	}
	return nil
}

func (c *childStream) update(row *schema.Action) error {
	known := c.sent[row.ID]
	if row.LastSeq <= known.seq || protomap.Terminal(known.phase) {
		return nil
	}
	phase := common.ActionPhase(row.Phase)
	c.sent[row.ID] = sentChild{seq: row.LastSeq, phase: phase}
	if phase == known.phase {
		return nil
	}
	message, err := actionUpdate(c.parent.Run, c.base, row)
	if err != nil {
		return err
	}
	return c.send(&enginev1.WatchChildrenResponse{Message: &actions.WatchForUpdatesResponse{
		Message: &actions.WatchForUpdatesResponse_ActionUpdate{ActionUpdate: message},
	}})
}

func (c *childStream) sentinel() error {
	return c.send(&enginev1.WatchChildrenResponse{Message: &actions.WatchForUpdatesResponse{
		Message: &actions.WatchForUpdatesResponse_ControlMessage{ControlMessage: &workflow.ControlMessage{Sentinel: true}},
	}})
}

// actionUpdate converts a row for the parent's controller. Only a terminal update carries results: the controller
// takes them from the first update with the terminal phase. Earlier updates of a task name the directory of its
// attempt, since the controller logs a warning to the user for each update without one.
func actionUpdate(run ident.Run, base string, row *schema.Action) (*workflow.ActionUpdate, error) {
	update := &workflow.ActionUpdate{
		ActionId: ident.Action{Run: run, Name: row.Name}.Proto(),
		Phase:    common.ActionPhase(row.Phase),
	}
	if !protomap.Terminal(update.GetPhase()) {
		if workflow.ActionType(row.ActionType) == workflow.ActionType_ACTION_TYPE_TASK {
			update.OutputUri = blobpath.AttemptDir(base, row.Name, uint32(row.Attempt)) //nolint:gosec // attempts count from 1
		}
		return update, nil
	}
	update.OutputUri = row.OutputURI
	switch update.GetPhase() {
	case common.ActionPhase_ACTION_PHASE_FAILED, common.ActionPhase_ACTION_PHASE_TIMED_OUT:
		if row.Error != nil {
			update.Error = &core.ExecutionError{}
			if err := proto.Unmarshal(row.Error, update.GetError()); err != nil {
				return nil, rpc.DataLoss(err, "the stored error of action %s cannot be read", row.Name)
			}
		}
	}
	if row.Signal != nil {
		signal := &workflow.SignalInfo{}
		if err := proto.Unmarshal(row.Signal, signal); err != nil {
			return nil, rpc.DataLoss(err, "the stored signal of action %s cannot be read", row.Name)
		}
		update.Value = signal.GetOutput()
	}
	return update, nil
}
