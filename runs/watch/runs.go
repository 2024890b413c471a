package watch

import (
	"context"
	"slices"
	"time"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/watches"
)

// newestRuns is the size of the first message of a watch of runs, and the limit of every other message.
const newestRuns = 100

// targetOf returns the runs that a request selects. An installation is one organization and one cluster, so these two
// targets select every run.
func targetOf(req *workflow.WatchRunsRequest) watches.RunTarget {
	switch target := req.GetTarget().(type) {
	case *workflow.WatchRunsRequest_ProjectId:
		return watches.RunTarget{Project: target.ProjectId.GetName(), Domain: target.ProjectId.GetDomain()}
	case *workflow.WatchRunsRequest_TaskId:
		return watches.RunTarget{
			Project: target.TaskId.GetProject(), Domain: target.TaskId.GetDomain(),
			TaskName: target.TaskId.GetName(), TaskVersion: target.TaskId.GetVersion(),
		}
	default:
		return watches.RunTarget{}
	}
}

// Runs streams the newest runs of a target, newest first, then every run that is created or changes. The first
// message is sent even if there is no run; empty messages are heartbeats.
func (s *Streams) Runs(ctx context.Context, target watches.RunTarget, send func(*workflow.WatchRunsResponse) error) error {
	sub, err := s.hub.SubscribeRoots(target)
	if err != nil {
		return err
	}
	defer sub.Close()
	pace := s.pace()
	defer pace.Stop()

	r := runStream{streams: s, target: target, allowed: authz.ScopeFrom(ctx), send: send, floor: map[int64]int64{}}
	rows, err := s.read.newestRoots(ctx, target, newestRuns)
	if err != nil {
		return err
	}
	for _, row := range rows {
		r.floor[row.ID] = row.LastSeq
	}
	if err := r.page(rows); err != nil {
		return err
	}
	heartbeat := func() error { return send(&workflow.WatchRunsResponse{}) }
	return follow(ctx, pace, sub.Ready(), heartbeat, func() (bool, error) {
		rows, lagged, since := sub.Take()
		if lagged {
			return false, r.resync(ctx, since)
		}
		return false, r.forward(rows)
	})
}

type runStream struct {
	streams *Streams
	target  watches.RunTarget
	allowed authz.Scope // what the subscriber may see
	send    func(*workflow.WatchRunsResponse) error
	// floor is the version of the runs that this stream read itself: what the feed read before is not newer.
	floor map[int64]int64
}

func (r *runStream) forward(rows []*lists.Listed) error {
	return r.pages(slices.DeleteFunc(rows, func(row *lists.Listed) bool {
		return row.LastSeq <= r.floor[row.ID] || !r.allowed.Allows(row.Project, row.Domain)
	}))
}

func (r *runStream) pages(rows []*lists.Listed) error {
	for part := range slices.Chunk(rows, newestRuns) {
		if err := r.page(part); err != nil {
			return err
		}
	}
	return nil
}

// resync sends everything updated after a time, because the subscriber fell behind the feed.
func (r *runStream) resync(ctx context.Context, since time.Time) error {
	scopes := []schema.Scope{{Project: r.target.Project, Domain: r.target.Domain}}
	if scopes[0] == (schema.Scope{}) {
		var err error
		if scopes, err = r.streams.read.scopes(ctx); err != nil {
			return err
		}
	}
	clear(r.floor)
	for _, scope := range scopes {
		if !r.allowed.Allows(scope.Project, scope.Domain) {
			continue
		}
		err := eachUpdated(ctx, r.streams.read, scope, since, func(rows []*lists.Listed) error {
			rows = slices.DeleteFunc(rows, func(row *lists.Listed) bool { return !r.target.Matches(&row.Action) })
			for _, row := range rows {
				r.floor[row.ID] = row.LastSeq
			}
			return r.pages(rows)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *runStream) page(rows []*lists.Listed) error {
	response := &workflow.WatchRunsResponse{Runs: make([]*workflow.Run, 0, len(rows))}
	for _, row := range rows {
		run, err := protomap.Run(&row.Action, row.Labels)
		if err != nil {
			return err
		}
		response.Runs = append(response.Runs, run)
	}
	return r.send(response)
}
