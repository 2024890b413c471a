package clusterview

import (
	"context"
	"slices"
	"time"

	"github.com/flyte-binary/flyte-binary/apps"
	"github.com/flyte-binary/flyte-binary/clusters/states"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/asks"
	"github.com/flyte-binary/flyte-binary/runs/placement"
)

// Apps chooses the clusters of apps by the rules by which actions are placed.
type Apps struct {
	States *states.Reader
	Policy *placement.Policy
	Rules  asks.Rules
	// LostAfter is how long a cluster may be away before its apps are started elsewhere; 0 means forever.
	LostAfter time.Duration
	// Root is the directory of the object store in which apps write.
	Root  string
	Clock clock.Clock
}

// Look implements apps.Clusters.
func (a Apps) Look(ctx context.Context) (apps.View, error) {
	all, err := a.States.All(ctx)
	if err != nil {
		return nil, err
	}
	clusters, _, err := Placeable{States: a.States, Clock: a.Clock}.Clusters(ctx)
	if err != nil {
		return nil, err
	}
	return appView{of: a, now: a.Clock.Now(), states: all, clusters: clusters}, nil
}

type appView struct {
	of       Apps
	now      time.Time
	states   []states.State
	clusters []placement.Cluster
}

// Choose implements apps.View.
func (v appView) Choose(w apps.Wanted) apps.Placed {
	request := v.request(w)
	if len(v.clusters) == 0 {
		return apps.Placed{Clusters: []string{named(request.Pin)}}
	}
	if only := v.clusters[0]; len(v.clusters) == 1 && (only.Closed == "" || only.Away) && (request.Pin == "" || request.Pin == only.Name) {
		return apps.Placed{Clusters: []string{only.Name}}
	}
	if words, pool := v.of.Policy.Refusal(request, v.clusters); pool {
		return apps.Placed{Words: words, Refused: true}
	}
	seats := make([]placement.Seat, len(v.clusters))
	for i := range v.clusters {
		seats[i] = placement.Seat{Cluster: &v.clusters[i], Booked: placement.Amounts{}}
	}
	if placement.Undecided(v.clusters) && v.of.Policy.ByDefault(request, seats) {
		return apps.Placed{Clusters: []string{named(request.Pin)}}
	}
	var placed apps.Placed
	for range w.Count {
		choice := v.of.Policy.Choose(request, seats)
		if choice.Cluster == "" {
			if len(placed.Clusters) == 0 {
				placed.Words = choice.Words
			}
			break
		}
		placed.Clusters = append(placed.Clusters, choice.Cluster)
		seats = slices.DeleteFunc(seats, func(s placement.Seat) bool { return s.Name == choice.Cluster })
	}
	return placed
}

func named(cluster string) string {
	if cluster == "" {
		return ident.DefaultCluster
	}
	return cluster
}

// request is what an app asks of a cluster, as a task with the same container would.
func (v appView) request(w apps.Wanted) *placement.Request {
	template := &core.TaskTemplate{ExtendedResources: w.Spec.GetExtendedResources()}
	if pod := w.Spec.GetPod(); pod != nil {
		template.Target = &core.TaskTemplate_K8SPod{K8SPod: pod}
	} else {
		template.Target = &core.TaskTemplate_Container{Container: w.Spec.GetContainer()}
	}
	request := v.of.Rules.Of(template, nil)
	request.Project, request.Domain, request.Labels, request.Pin = w.Project, w.Domain, w.Labels, w.Spec.GetCluster()
	asks.Data(&request, nil, v.of.Root)
	if pool := w.Spec.GetClusterPool(); request.Pin == "" {
		request.Pool = pool
	}
	return &request
}

// Leave implements apps.View.
func (v appView) Leave(cluster string) apps.Leave {
	for i := range v.states {
		s := &v.states[i]
		if s.Name != cluster {
			continue
		}
		switch {
		case s.State == states.Removed:
			return apps.Leave{Why: "was removed", Gone: true}
		case s.Away(v.now) && v.of.LostAfter > 0 && v.now.Sub(s.SeenAt) >= v.of.LostAfter:
			return apps.Leave{Why: "is away", Lost: true}
		case s.State == states.Draining:
			return apps.Leave{Why: "is draining", Serves: true}
		}
	}
	return apps.Leave{}
}
