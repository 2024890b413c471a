// Package clusterwork counts the work of clusters in the tables of the services that have it.
package clusterwork

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	appstore "github.com/flyte-binary/flyte-binary/apps/store"
	"github.com/flyte-binary/flyte-binary/clusters"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	poolstore "github.com/flyte-binary/flyte-binary/pools/store"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// mostProjects bounds the projects that are named for each cluster.
const mostProjects = 5

// Counter counts the work of clusters.
type Counter struct {
	live  *worklists.LiveReader
	pools *poolstore.Store
	apps  *appstore.Store
}

var _ clusters.Counter = Counter{}

// New returns a counter on a pool that the caller owns.
func New(pool *pgxpool.Pool) Counter {
	return Counter{worklists.NewLiveReader(pool), poolstore.New(pool), appstore.New(pool, clock.System{})}
}

// Work implements clusters.Counter.
func (c Counter) Work(ctx context.Context) (map[string]clusters.Work, error) {
	found := map[string]clusters.Work{}
	live, err := c.live.OnClusters(ctx)
	if err != nil {
		return nil, err
	}
	for _, one := range live {
		w := found[one.Cluster]
		w.Actions, w.Pending = w.Actions+one.Live, w.Pending+one.Pending
		if len(w.Projects) < mostProjects {
			w.Projects = append(w.Projects, clusters.ProjectWork{Project: one.Project, Actions: one.Live})
		}
		found[one.Cluster] = w
	}
	for _, count := range []struct {
		read func(context.Context) (map[string]int, error)
		put  func(*clusters.Work, int)
	}{
		{c.live.QueuedForClusters, func(w *clusters.Work, n int) { w.Queued = n }},
		{c.pools.OnClusters, func(w *clusters.Work, n int) { w.Workers = n }},
		{c.placed, func(w *clusters.Work, n int) { w.Apps = n }},
	} {
		counted, err := count.read(ctx)
		if err != nil {
			return nil, err
		}
		for cluster, n := range counted {
			w := found[cluster]
			count.put(&w, n)
			found[cluster] = w
		}
	}
	return found, nil
}

// placed counts the apps that are not stopped.
func (c Counter) placed(ctx context.Context) (map[string]int, error) {
	return c.apps.OnClusters(ctx, int16(app.Spec_DESIRED_STATE_STOPPED))
}
