package watch

import (
	"context"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/watches"
)

// groupQuery is a validated request for groups.
type groupQuery struct {
	scope     watches.GroupScope
	limit     int
	ascending bool // by the newest run
}

// parseGroups validates what protovalidate cannot check.
func parseGroups(req *workflow.WatchGroupsRequest, highest int) (groupQuery, error) {
	q := groupQuery{limit: highest, scope: watches.GroupScope{
		Scope:   schema.Scope{Project: req.GetProjectId().GetName(), Domain: req.GetProjectId().GetDomain()},
		From:    req.GetStartDate().AsTime(),
		Filters: req.GetRequest().GetFilters(),
	}}
	if end := req.GetEndDate(); end != nil {
		until := end.AsTime()
		if until.Before(q.scope.From) {
			return groupQuery{}, rpc.InvalidArgument("end_date", "must not be before start_date")
		}
		q.scope.Until = &until
	}
	if asked := req.GetRequest().GetLimit(); asked > 0 {
		if int64(asked) > int64(highest) {
			return groupQuery{}, rpc.InvalidArgument("request.limit", "must be at most %d, got %d", highest, asked)
		}
		q.limit = int(asked)
	}
	for _, sort := range req.GetKnownSortFields() {
		q.ascending = sort.GetCreatedAt() == common.Sort_ASCENDING
	}
	return q, nil
}

const (
	groupsPerMessage = 100
	// groupWindow is how many windows changes of runs are batched before the sums are read again.
	groupWindow = 10
)

// Groups streams summaries of runs per task: first all groups, where the last message has the sentinel, then the
// groups that changed. With an end date the stream ends after the first part. Empty messages are heartbeats.
func (s *Streams) Groups(ctx context.Context, q groupQuery, send func(*workflow.WatchGroupsResponse) error) error {
	sub, err := s.hub.SubscribeRoots(watches.RunTarget{Project: q.scope.Project, Domain: q.scope.Domain})
	if err != nil {
		return err
	}
	defer sub.Close()
	pace := s.pace()
	defer pace.Stop()

	g := groupStream{streams: s, query: q, send: send, last: map[string]*workflow.TaskGroup{}}
	if err := g.snapshot(ctx); err != nil || q.scope.Until != nil {
		return err
	}
	timer := s.clock.NewTimer(groupWindow * s.cfg.Window)
	defer timer.Stop()
	ready, window := (<-chan struct{})(nil), timer.C()
	for {
		pace.Sent()
		why, err := pace.Wait(ctx, ready, window)
		switch {
		case err != nil:
			return err
		case why == stream.Expired:
			return nil
		case why == stream.PauseOver:
			ready, window = sub.Ready(), nil
			continue
		case why == stream.Heartbeat:
			err = send(&workflow.WatchGroupsResponse{})
		default:
			began := s.clock.Now()
			err = g.forward(ctx, sub)
			// Expensive sums are read less often.
			timer.Reset(max(groupWindow*s.cfg.Window, groupWindow*s.clock.Now().Sub(began)))
			ready, window = nil, timer.C()
		}
		if err != nil {
			return err
		}
	}
}

type groupStream struct {
	streams *Streams
	query   groupQuery
	send    func(*workflow.WatchGroupsResponse) error
	last    map[string]*workflow.TaskGroup // what the client has
}

func (g *groupStream) snapshot(ctx context.Context) error {
	groups, err := g.read(ctx, nil)
	if err != nil {
		return err
	}
	for len(groups) > groupsPerMessage {
		if err := g.message(groups[:groupsPerMessage], false); err != nil {
			return err
		}
		groups = groups[groupsPerMessage:]
	}
	return g.message(groups, true)
}

// read summarizes some tasks, or all when names is nil.
func (g *groupStream) read(ctx context.Context, names []string) ([]*workflow.TaskGroup, error) {
	scope := g.query.scope
	scope.Tasks = names
	rows, err := g.streams.read.taskGroups(ctx, scope, g.query.limit)
	if err != nil {
		return nil, err
	}
	groups := make([]*workflow.TaskGroup, 0, len(rows))
	for _, row := range rows {
		group, err := taskGroup(row)
		if err != nil {
			return nil, err
		}
		groups = append(groups, group)
	}
	if g.query.ascending { // the rows come newest first
		slices.Reverse(groups)
	}
	return groups, nil
}

// forward sends the groups of changed runs whose summary changed.
func (g *groupStream) forward(ctx context.Context, sub *RootSubscription) error {
	rows, lagged, _ := sub.Take()
	var names []string
	if !lagged {
		if names = g.tasks(rows); len(names) == 0 {
			return nil
		}
	}
	groups, err := g.read(ctx, names)
	if err != nil {
		return err
	}
	// A group that should be read and is not found has no more runs that match, or is beyond the limit of groups.
	gone := map[string]struct{}{}
	for _, name := range names {
		gone[name] = struct{}{}
	}
	if lagged {
		for name := range g.last {
			gone[name] = struct{}{}
		}
	}
	var changed []*workflow.TaskGroup
	for _, group := range groups {
		delete(gone, group.GetTaskName())
		if !proto.Equal(group, g.last[group.GetTaskName()]) {
			changed = append(changed, group)
		}
	}
	for name := range gone {
		if g.last[name] != nil {
			changed = append(changed, &workflow.TaskGroup{TaskName: name, ShouldDelete: true})
		}
	}
	for part := range slices.Chunk(changed, groupsPerMessage) {
		if err := g.message(part, false); err != nil {
			return err
		}
	}
	return nil
}

// tasks are the names of the tasks whose groups changed runs are in. Older runs than the request wants belong to no
// group.
func (g *groupStream) tasks(rows []*lists.Listed) []string {
	var names []string
	for _, row := range rows {
		if !row.CreatedAt.Before(g.query.scope.From) {
			names = append(names, row.TaskName)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (g *groupStream) message(groups []*workflow.TaskGroup, sentinel bool) error {
	for _, group := range groups {
		if group.GetShouldDelete() {
			delete(g.last, group.GetTaskName())
		} else {
			g.last[group.GetTaskName()] = group
		}
	}
	return g.send(&workflow.WatchGroupsResponse{TaskGroups: groups, Sentinel: sentinel})
}

func seconds(value float64) time.Duration { return time.Duration(value * float64(time.Second)) }
