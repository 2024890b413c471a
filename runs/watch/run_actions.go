package watch

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/watches"
)

// Picture describes the snapshot that a client already has of a run.
type Picture struct {
	Run ident.Run
	// Cursor is the position in the run's log up to which the client has everything; Strings is how many strings it
	// has. Both are 0 when it has nothing.
	Cursor  int64
	Strings uint32
}

const (
	firstBriefs  = 250    // the first part of a snapshot, small so that clients can render it at once
	logOrSurvey  = 20_000 // a client further behind in the log gets its changes from a walk through the run
	pagesInBrief = 2      // rows are so narrow that a page may have more of them
)

// RunActions streams a columnar snapshot of a run: all actions in brief, parents before children, then changes,
// batched over a window. A client that already has a snapshot gets only what changed after its cursor, unless the
// cursor is beyond the log. Each complete snapshot is followed by its position in the log, which is also the
// heartbeat.
func (s *Streams) RunActions(ctx context.Context, picture Picture, send func(*insightv1.WatchRunActionsResponse) error) error {
	at, err := s.read.locateRun(ctx, picture.Run)
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

	p := pictureStream{streams: s, at: at, cursor: at.LastSeq, send: func(m *insightv1.WatchRunActionsResponse) error {
		pace.Sent()
		return send(m)
	}}
	if err := p.begin(ctx, picture); err != nil {
		return err
	}
	timer := s.clock.NewTimer(s.cfg.Window)
	defer timer.Stop()
	ready := (<-chan struct{})(nil) // within a window changes wait in the ring
	for {
		pause := timer.C()
		if ready != nil {
			pause = nil
		}
		why, err := pace.Wait(ctx, ready, pause)
		switch {
		case err != nil || why == stream.Expired:
			return err
		case why == stream.PauseOver:
			ready = sub.Ready()
			continue
		case why == stream.Ready:
			if err := p.apply(ctx, sub.Take()); err != nil {
				return err
			}
			ready = nil
			timer.Stop()
			timer.Reset(s.cfg.Window)
		}
		if err := p.caughtUp(); err != nil {
			return err
		}
	}
}

// pictureStream is one stream of RunActions.
type pictureStream struct {
	streams *Streams
	at      watches.Located
	columns *runColumns
	send    func(*insightv1.WatchRunActionsResponse) error

	cursor int64 // the client has everything up to here
	// newest is the latest event of any row that was read for this stream alone. What the feed read before may be
	// older than what the client has.
	newest int64
}

// begin sends the start and what the client lacks.
func (p *pictureStream) begin(ctx context.Context, picture Picture) error {
	resumed := picture.Cursor > 0 && picture.Cursor <= p.at.LastSeq && picture.Strings > 0
	if !resumed {
		// also rows without an event, whose number is 0
		picture.Cursor, picture.Strings = -1, 0
	}
	p.columns = newRunColumns(p.at, picture.Strings)
	if err := p.start(ctx, resumed); err != nil {
		return err
	}
	catchUp := p.survey
	if resumed && p.at.LastSeq-picture.Cursor <= logOrSurvey {
		catchUp = p.log
	}
	if err := catchUp(ctx, picture.Cursor); err != nil {
		return err
	}
	return p.caughtUp()
}

func (p *pictureStream) start(ctx context.Context, resumed bool) error {
	counts, err := p.streams.read.phaseCounts(ctx, p.at.RunID)
	if err != nil {
		return err
	}
	start := &insightv1.SnapshotStart{Resumed: resumed, CreatedAt: timestamppb.New(p.at.RunCreatedAt)}
	for _, c := range counts {
		count := &insightv1.PhaseCount{Phase: uint32(c.Phase), Count: uint32(c.Count)} //nolint:gosec // an enumeration, and a count of actions
		start.Phases = append(start.Phases, count)
		start.TotalActions += count.GetCount()
	}
	return p.send(&insightv1.WatchRunActionsResponse{Part: &insightv1.WatchRunActionsResponse_Start{Start: start}})
}

func (p *pictureStream) caughtUp() error {
	return p.send(&insightv1.WatchRunActionsResponse{Part: &insightv1.WatchRunActionsResponse_CaughtUp{CaughtUp: &insightv1.CaughtUp{
		Cursor: p.cursor, Now: timestamppb.New(p.streams.clock.Now()),
	}}})
}

// survey walks through the run and sends what changed after a position in its log, in creation order. Actions created
// in the meantime are in the log. A page is read while the one before it is encoded and sent.
func (p *pictureStream) survey(ctx context.Context, since int64) error {
	group, ctx := errgroup.WithContext(ctx)
	pages := make(chan []schema.Brief)
	group.Go(func() error {
		defer close(pages)
		return p.pages(ctx, since, pages)
	})
	group.Go(func() error {
		for briefs := range pages {
			briefs, err := p.withParents(ctx, briefs)
			if err != nil {
				return err
			}
			if err := p.actions(briefs); err != nil {
				return err
			}
		}
		return nil
	})
	return group.Wait()
}

// pages reads what changed after a position in the log in pages, in creation order.
func (p *pictureStream) pages(ctx context.Context, since int64, pages chan<- []schema.Brief) error {
	page := pagesInBrief * p.streams.cfg.Page
	var after watches.ActionKey
	for limit := min(page, firstBriefs); ; limit = page {
		briefs, err := p.streams.read.briefs(ctx, p.at.RunID, since, after, limit)
		if err != nil {
			return err
		}
		last := len(briefs) < limit
		if !last {
			end := &briefs[len(briefs)-1]
			after = watches.ActionKey{CreatedAt: end.CreatedAt, ID: end.ID}
		}
		select {
		case pages <- briefs:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if last {
			return nil
		}
	}
}

// withParents prepends those parents that no page has contained. They may have been missed because of a lagging
// clock, or because a parent and its child were created during the walk.
func (p *pictureStream) withParents(ctx context.Context, briefs []schema.Brief) ([]schema.Brief, error) {
	for {
		parents, err := p.parents(ctx, briefs)
		if err != nil {
			return nil, err
		}
		if len(parents) == 0 {
			break
		}
		briefs = append(parents, briefs...)
	}
	slices.SortFunc(briefs, byID)
	return slices.CompactFunc(briefs, func(a, b schema.Brief) bool { return a.ID == b.ID }), nil
}

// parents reads the parents of some actions whose numbers are unknown and that are not among them.
func (p *pictureStream) parents(ctx context.Context, briefs []schema.Brief) ([]schema.Brief, error) {
	names := p.columns.unknownParents(briefs)
	if len(names) == 0 {
		return nil, nil
	}
	parents, err := p.streams.read.briefsByName(ctx, p.at.RunID, names)
	if err == nil && len(parents) < len(names) {
		err = rpc.NotFound("the run was deleted")
	}
	return parents, err
}

// byID is the order in which the actions of a run were recorded, parents before children.
func byID(a, b schema.Brief) int {
	switch {
	case a.ID < b.ID:
		return -1
	case a.ID > b.ID:
		return 1
	default:
		return 0
	}
}

// log reads the run's log from a position to its end, and sends the actions that it concerns.
func (p *pictureStream) log(ctx context.Context, after int64) error {
	for {
		part, err := p.streams.read.briefChanges(ctx, p.at.RunID, after, pagesInBrief*p.streams.cfg.Page)
		if err != nil {
			return err
		}
		if err := p.changed(ctx, part.briefs); err != nil {
			return err
		}
		after = part.upTo
		if !part.more {
			p.cursor = max(p.cursor, after)
			return nil
		}
	}
}

// apply sends the changes that the subscription delivers.
func (p *pictureStream) apply(ctx context.Context, taken Taken) error {
	if taken.Lagged {
		if err := p.log(ctx, taken.Since); err != nil {
			return err
		}
		p.cursor = max(p.cursor, taken.UpTo)
		return nil
	}
	latest := make(map[int64]schema.Brief, len(taken.Changes))
	var stale []int64
	for _, change := range taken.Changes {
		latest[change.Row.ID] = change.Row.Brief()
	}
	briefs := make([]schema.Brief, 0, len(latest))
	for id, brief := range latest {
		if brief.LastSeq <= p.newest {
			stale = append(stale, id)
			continue
		}
		briefs = append(briefs, brief)
	}
	// A row from the feed may be older than what this stream has sent after a read of its own, so it is read again.
	if len(stale) > 0 {
		fresh, err := p.streams.read.briefsByID(ctx, stale)
		if err != nil {
			return err
		}
		briefs = append(briefs, fresh...)
		p.remember(fresh)
	}
	slices.SortFunc(briefs, byID)
	for part := range slices.Chunk(briefs, pagesInBrief*p.streams.cfg.Page) {
		if err := p.known(ctx, part); err != nil {
			return err
		}
		if err := p.message(part); err != nil {
			return err
		}
	}
	p.cursor = max(p.cursor, taken.UpTo)
	return nil
}

// changed sends actions that were read for this stream alone, from the log or by id. A client that has a child from
// the log also has its parent, which was recorded before.
func (p *pictureStream) changed(ctx context.Context, briefs []schema.Brief) error {
	if err := p.known(ctx, briefs); err != nil {
		return err
	}
	return p.actions(briefs)
}

// known adds the numbers of the parents of some actions.
func (p *pictureStream) known(ctx context.Context, briefs []schema.Brief) error {
	parents, err := p.parents(ctx, briefs)
	for i := range parents {
		p.columns.numbers[parents[i].Name] = p.columns.number(parents[i].ID)
	}
	return err
}

func (p *pictureStream) actions(briefs []schema.Brief) error {
	p.remember(briefs)
	return p.message(briefs)
}

// remember raises newest to the events that the client now has.
func (p *pictureStream) remember(briefs []schema.Brief) {
	for i := range briefs {
		p.newest = max(p.newest, briefs[i].LastSeq)
	}
}

func (p *pictureStream) message(briefs []schema.Brief) error {
	if len(briefs) == 0 {
		return nil
	}
	return p.send(p.columns.message(briefs))
}
