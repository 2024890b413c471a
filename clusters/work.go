package clusters

import (
	"context"
	"fmt"
	"strings"

	"github.com/flyte-binary/flyte-binary/clusters/links"
	clustersv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1"
)

// Counter counts the work of clusters.
type Counter interface {
	// Work returns what each cluster has, by name. Clusters without work may be left out.
	Work(ctx context.Context) (map[string]Work, error)
}

// Work is what a cluster has to do.
type Work struct {
	// Actions are the attempts that run there or are about to, Pending those of them that have not begun, Queued the actions that wait
	// for it.
	Actions, Pending, Queued int
	// Workers are those of reusable environments, Apps those that are placed there and not stopped.
	Workers, Apps int
	// Projects are those with the most attempts there, the largest first.
	Projects []ProjectWork
}

// ProjectWork is how many attempts a project has.
type ProjectWork struct {
	Project string
	Actions int
}

// actionsOf counts the actions of clusters for metrics; nil if no one counts.
func actionsOf(work Counter) func(ctx context.Context) (map[string]links.Actions, error) {
	if work == nil {
		return nil
	}
	return func(ctx context.Context) (map[string]links.Actions, error) {
		counted, err := work.Work(ctx)
		if err != nil {
			return nil, err
		}
		actions := make(map[string]links.Actions, len(counted))
		for cluster, one := range counted {
			actions[cluster] = links.Actions{Waiting: one.Queued, Starting: one.Pending, Running: one.Actions - one.Pending}
		}
		return actions, nil
	}
}

// Empty reports whether nothing is there.
func (w Work) Empty() bool { return w.Actions == 0 && w.Workers == 0 && w.Apps == 0 }

// String says what is there.
func (w Work) String() string {
	var parts []string
	for _, part := range []struct {
		n         int
		one, many string
	}{{w.Actions, "action", "actions"}, {w.Workers, "worker", "workers"}, {w.Apps, "app", "apps"}} {
		switch {
		case part.n == 1:
			parts = append(parts, "1 "+part.one)
		case part.n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.many))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// works counts the work of all clusters; nothing if no one counts.
func (r *Registry) works(ctx context.Context) (map[string]Work, error) {
	if r.work == nil {
		return map[string]Work{}, nil
	}
	return r.work.Work(ctx)
}

// Work counts the work of a cluster.
func (r *Registry) Work(ctx context.Context, name string) (Work, error) {
	all, err := r.works(ctx)
	return all[name], err
}

//nolint:gosec // counts
func workOf(w Work) *clustersv1.ClusterWork {
	out := &clustersv1.ClusterWork{
		Actions: uint32(w.Actions), Pending: uint32(w.Pending), Queued: uint32(w.Queued), Workers: uint32(w.Workers), Apps: uint32(w.Apps),
	}
	for _, one := range w.Projects {
		out.Projects = append(out.Projects, &clustersv1.ProjectWork{Project: one.Project, Actions: uint32(one.Actions)})
	}
	return out
}
