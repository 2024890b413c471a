package apps

import (
	"context"
	"slices"

	"github.com/flyte-binary/flyte-binary/apps/store"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// Clusters knows the clusters of the installation; clusterview.Apps does.
type Clusters interface {
	// Look returns how they are now.
	Look(ctx context.Context) (View, error)
}

// View is how the clusters were at one moment.
type View interface {
	// Choose returns the clusters that should run an app, the best first.
	Choose(w Wanted) Placed
	// Leave says whether, and how, apps have to leave a cluster.
	Leave(cluster string) Leave
}

// Wanted is what an app asks of a cluster.
type Wanted struct {
	store.Key
	Labels map[string]string
	Spec   *app.Spec
	// Count is in how many clusters it should run.
	Count int
}

// Placed is where an app should run.
type Placed struct {
	// Clusters are at most as many as wanted; none if no cluster takes the app now.
	Clusters []string
	// Words say why there are none.
	Words string
	// Refused says that no cluster could ever run it, because of its cluster_pool.
	Refused bool
}

// Leave is how apps have to leave a cluster.
type Leave struct {
	// Why says why, as in "is draining"; empty if they may stay.
	Why string
	// Serves says that they serve there until another cluster does. Otherwise nothing can be expected of the cluster.
	Serves bool
	// Lost says that it was not heard for long. That needs a second look after an outage of this server.
	Lost bool
	// Gone says that the cluster is no longer registered.
	Gone bool
}

// place chooses the clusters of an app that is new, or asks for others now.
func (d decider) place(a *store.App, spec *app.Spec, known facts) error {
	a.Others, a.Leaving, a.Waits = nil, nil, ""
	if known.view == nil {
		if pool := poolOf(spec); pool != "" {
			return rpc.InvalidArgument("app.spec.cluster_pool", "must be default or empty, got %q; set cluster to choose a cluster", pool)
		}
		if a.Cluster = spec.GetCluster(); a.Cluster == "" {
			a.Cluster = ident.DefaultCluster
		}
		return nil
	}
	placed := known.view.Choose(d.wanted(a, spec))
	switch {
	case placed.Refused:
		return rpc.InvalidArgument("app.spec.cluster_pool", "%s", placed.Words)
	case len(placed.Clusters) == 0:
		a.Cluster, a.Waits = "", placed.Words
	default:
		a.Cluster, a.Others = placed.Clusters[0], placed.Clusters[1:]
	}
	return nil
}

func (d decider) wanted(a *store.App, spec *app.Spec) Wanted {
	return Wanted{Key: a.Key, Labels: a.Labels, Spec: spec, Count: d.config.clustersOf(a.Key, spec)}
}

// samePlace reports whether two specs ask for the same clusters.
func samePlace(a, b *app.Spec) bool {
	return a.GetCluster() == b.GetCluster() && poolOf(a) == poolOf(b)
}

func poolOf(spec *app.Spec) string {
	if pool := spec.GetClusterPool(); pool != "default" {
		return pool
	}
	return ""
}

// clustersOf is in how many clusters an app should run.
func (c Config) clustersOf(key store.Key, spec *app.Spec) int {
	if spec.GetCluster() != "" {
		return 1
	}
	for i := range c.Spread {
		if c.Spread[i].matches(key, poolOf(spec)) {
			return c.Spread[i].Clusters
		}
	}
	return 1
}

func (s *Spread) matches(key store.Key, pool string) bool {
	return (len(s.Projects) == 0 || slices.Contains(s.Projects, key.Project) || slices.Contains(s.Projects, key.Project+"/"+key.Domain)) &&
		(len(s.Apps) == 0 || slices.Contains(s.Apps, key.Name)) && (len(s.Pools) == 0 || slices.Contains(s.Pools, pool))
}
