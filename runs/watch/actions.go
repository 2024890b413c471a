package watch

import (
	"context"
	"slices"
	"sync"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/watches"
)

// Actions streams the action tree of a run: pages of a snapshot, then changes, batched over a window. Each action
// carries the phase counts of all its descendants. An action that stops passing the filter is sent again, marked
// as not matching. The first message is sent even if no action passes; empty messages are heartbeats.
func (s *Streams) Actions(ctx context.Context, run ident.Run, filter treeFilter, send func(*workflow.WatchActionsResponse) error) error {
	at, err := s.read.locateRun(ctx, run)
	if err != nil {
		return err
	}
	sub, err := s.hub.Subscribe(at.RunID, at.LastSeq, WholeRun())
	if err != nil {
		return err
	}
	defer sub.Close()
	pace := s.pace()
	defer pace.Stop()

	a := actionStream{streams: s, runID: at.RunID, tree: newTree(filter), rows: map[int32]*lists.Listed{}, send: send}
	if err := a.snapshot(ctx, 0); err != nil {
		return err
	}
	if a.messages == 0 {
		if err := a.message(nil); err != nil {
			return err
		}
	}
	timer := s.clock.NewTimer(s.cfg.Window)
	defer timer.Stop()
	ready := (<-chan struct{})(nil) // within a window changes wait in the ring
	for {
		pause := timer.C()
		if ready != nil && !a.ended() {
			pause = nil
		}
		pace.Sent()
		why, err := pace.Wait(ctx, ready, pause)
		switch {
		case err != nil:
			return err
		case why == stream.Expired, why == stream.PauseOver && ready != nil: // the run has ended and stayed quiet
			return nil
		case why == stream.PauseOver:
			ready = sub.Ready()
			timer.Reset(s.cfg.Linger)
			if !a.tree.pending() {
				continue
			}
			err = a.flush(ctx, true)
		case why == stream.Heartbeat:
			err = a.message(nil)
		default:
			err = a.apply(ctx, sub.Take())
			ready = nil
			timer.Stop()
			timer.Reset(s.cfg.Window)
		}
		if err != nil {
			return err
		}
	}
}

// firstPage is the size of the first page of a snapshot: small, so that clients can render it at once.
const firstPage = 100

// actionStream is one stream of Actions.
type actionStream struct {
	streams  *Streams
	runID    int64
	tree     *tree
	rows     map[int32]*lists.Listed // rows of changed nodes that are still to be sent
	send     func(*workflow.WatchActionsResponse) error
	messages int // sent so far, heartbeats included
	mapper   protomap.Mapper
}

// ended reports whether the root action is terminal.
func (a *actionStream) ended() bool {
	return len(a.tree.nodes) > 0 && protomap.Terminal(common.ActionPhase(a.tree.nodes[0].phase))
}

func (a *actionStream) put(row *lists.Listed) {
	a.tree.put(row, func(index int32, row *lists.Listed) { a.rows[index] = row })
}

// snapshot reads and sends the actions that changed after since, page by page. Descendant counts cover the pages so
// far; if they grow later, the action is sent again at the end. The first page is shorter than the others.
func (a *actionStream) snapshot(ctx context.Context, since int64) error {
	ctx, cancel := context.WithCancel(ctx)
	var reading sync.WaitGroup
	// Deferred calls run last to first: the read in the background is cancelled before it is waited for.
	defer reading.Wait()
	defer cancel()
	read := func(after watches.ActionKey, limit int) <-chan listedPage {
		page := make(chan listedPage, 1)
		reading.Go(func() {
			rows, err := a.streams.read.runActions(ctx, a.runID, since, after, limit)
			page <- listedPage{rows, err}
		})
		return page
	}
	limit := min(a.streams.cfg.Page, firstPage)
	next := read(watches.ActionKey{}, limit)
	for {
		page := <-next
		if page.err != nil {
			return page.err
		}
		last := len(page.rows) < limit
		if !last { // the next page is read while this one is sent
			end := page.rows[len(page.rows)-1]
			limit = a.streams.cfg.Page
			next = read(watches.ActionKey{CreatedAt: end.CreatedAt, ID: end.ID}, limit)
		}
		for _, row := range page.rows {
			a.put(row)
		}
		if err := a.flush(ctx, last); err != nil || last {
			return err
		}
	}
}

// listedPage is what was read of a run.
type listedPage struct {
	rows []*lists.Listed
	err  error
}

func (a *actionStream) apply(ctx context.Context, taken Taken) error {
	if taken.Lagged {
		return a.snapshot(ctx, taken.Since)
	}
	for _, change := range taken.Changes {
		a.put(change.Row)
	}
	return a.flush(ctx, true)
}

// flush sends pending actions in messages of one page each.
func (a *actionStream) flush(ctx context.Context, counts bool) error {
	for part := range slices.Chunk(a.tree.due(counts), a.streams.cfg.Page) {
		if err := a.fetch(ctx, part); err != nil {
			return err
		}
		if err := a.message(part); err != nil {
			return err
		}
	}
	return nil
}

// fetch reads the rows of nodes that are sent although they did not change themselves, usually ancestors. If such a
// row is newer than the tree, the tree is updated here, so that the older change that arrives later is not taken for
// a new one.
func (a *actionStream) fetch(ctx context.Context, part []int32) error {
	var missing []int64
	for _, index := range part {
		if a.rows[index] == nil {
			missing = append(missing, a.tree.nodes[index].id)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	rows, err := a.streams.read.actionsByID(ctx, missing)
	if err != nil {
		return err
	}
	for _, row := range rows {
		a.put(row)
		a.rows[a.tree.byName[row.Name]] = row
	}
	return nil
}

func (a *actionStream) message(part []int32) error {
	response := &workflow.WatchActionsResponse{EnrichedActions: make([]*workflow.EnrichedAction, 0, len(part))}
	for _, index := range part {
		row := a.rows[index]
		if row == nil {
			continue // deleted meanwhile
		}
		delete(a.rows, index)
		action, err := a.mapper.Action(&row.Action, row.Condition)
		if err != nil {
			return err
		}
		response.EnrichedActions = append(response.EnrichedActions, &workflow.EnrichedAction{
			Action: action, MeetsFilter: a.tree.visible(index), ChildrenPhaseCounts: a.tree.countsBelow(index),
		})
		a.tree.told(index)
	}
	a.messages++
	return a.send(response)
}
