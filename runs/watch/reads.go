package watch

import (
	"context"
	"fmt"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/watches"
)

// reads bounds the concurrent reads of streams, so that thousands of clients that reconnect together leave
// connections to the writer. Its errors are ones that clients retry.
type reads struct {
	from    Reader
	details Details
	tokens  chan struct{}
}

func newReads(from Reader, details Details, limit int) *reads {
	return &reads{from: from, details: details, tokens: make(chan struct{}, limit)}
}

// limited waits for a token and reads. An internal error, such as one of the database, becomes Unavailable, after which
// clients subscribe again.
func limited[T any](ctx context.Context, r *reads, read func() (T, error)) (T, error) {
	select {
	case r.tokens <- struct{}{}:
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
	defer func() { <-r.tokens }()
	value, err := read()
	if err != nil && rpc.KindOf(err) == rpc.KindInternal {
		err = rpc.Unavailable(fmt.Errorf("read for a watch: %w", err), "stream interrupted; subscribe again")
	}
	return value, err
}

func (r *reads) locate(ctx context.Context, id ident.Action) (watches.Located, error) {
	return limited(ctx, r, func() (watches.Located, error) { return r.from.Locate(ctx, id) })
}

func (r *reads) locateRun(ctx context.Context, id ident.Run) (watches.Located, error) {
	return limited(ctx, r, func() (watches.Located, error) { return r.from.LocateRun(ctx, id) })
}

func (r *reads) children(ctx context.Context, runID int64, parent string, since, afterID int64, limit int) ([]*schema.Action, error) {
	return limited(ctx, r, func() ([]*schema.Action, error) {
		return r.from.Children(ctx, runID, parent, since, afterID, limit)
	})
}

func (r *reads) runActions(ctx context.Context, runID, since int64, after watches.ActionKey, limit int) ([]*lists.Listed, error) {
	return limited(ctx, r, func() ([]*lists.Listed, error) { return r.from.RunActions(ctx, runID, since, after, limit) })
}

func (r *reads) actionsByID(ctx context.Context, ids []int64) ([]*lists.Listed, error) {
	return limited(ctx, r, func() ([]*lists.Listed, error) { return r.from.ActionsByID(ctx, ids) })
}

func (r *reads) attemptEvents(ctx context.Context, actionID int64, attempt int32, after int64, limit int) ([]watches.ReportedEvent, error) {
	return limited(ctx, r, func() ([]watches.ReportedEvent, error) {
		return r.from.AttemptEvents(ctx, actionID, attempt, after, limit)
	})
}

func (r *reads) newestRoots(ctx context.Context, target watches.RunTarget, limit int) ([]*lists.Listed, error) {
	return limited(ctx, r, func() ([]*lists.Listed, error) { return r.from.NewestRoots(ctx, target, limit) })
}

// UpdatedRoots implements updatedReader.
func (r *reads) UpdatedRoots(ctx context.Context, scope schema.Scope, after watches.UpdatedKey, limit int) ([]*lists.Listed, error) {
	return limited(ctx, r, func() ([]*lists.Listed, error) { return r.from.UpdatedRoots(ctx, scope, after, limit) })
}

func (r *reads) scopes(ctx context.Context) ([]schema.Scope, error) {
	return limited(ctx, r, func() ([]schema.Scope, error) { return r.from.Scopes(ctx) })
}

func (r *reads) taskGroups(ctx context.Context, scope watches.GroupScope, limit int) ([]*watches.TaskGroup, error) {
	return limited(ctx, r, func() ([]*watches.TaskGroup, error) { return r.from.TaskGroups(ctx, scope, limit) })
}

func (r *reads) phaseCounts(ctx context.Context, runID int64) ([]watches.PhaseCount, error) {
	return limited(ctx, r, func() ([]watches.PhaseCount, error) { return r.from.PhaseCounts(ctx, runID) })
}

func (r *reads) briefs(ctx context.Context, runID, since int64, after watches.ActionKey, limit int) ([]schema.Brief, error) {
	return limited(ctx, r, func() ([]schema.Brief, error) { return r.from.Briefs(ctx, runID, since, after, limit) })
}

func (r *reads) briefsByID(ctx context.Context, ids []int64) ([]schema.Brief, error) {
	return limited(ctx, r, func() ([]schema.Brief, error) { return r.from.BriefsByID(ctx, ids) })
}

func (r *reads) briefsByName(ctx context.Context, runID int64, names []string) ([]schema.Brief, error) {
	return limited(ctx, r, func() ([]schema.Brief, error) { return r.from.BriefsByName(ctx, runID, names) })
}

// briefChanges is a part of a run's log.
type briefChanges struct {
	briefs []schema.Brief
	upTo   int64
	more   bool
}

func (r *reads) briefChanges(ctx context.Context, runID, after int64, limit int) (briefChanges, error) {
	return limited(ctx, r, func() (part briefChanges, err error) {
		part.briefs, part.upTo, part.more, err = r.from.BriefChanges(ctx, runID, after, limit)
		return part, err
	})
}

func (r *reads) actionDetails(ctx context.Context, id ident.Action) (*workflow.ActionDetails, error) {
	return limited(ctx, r, func() (*workflow.ActionDetails, error) { return r.details.ActionDetails(ctx, id) })
}

func (r *reads) runDetails(ctx context.Context, id ident.Run) (*workflow.RunDetails, error) {
	return limited(ctx, r, func() (*workflow.RunDetails, error) { return r.details.RunDetails(ctx, id) })
}
