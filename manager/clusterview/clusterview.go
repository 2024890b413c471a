// Package clusterview shows the registry of clusters to the services that ask about clusters.
package clusterview

import (
	"context"
	"time"

	"github.com/flyte-binary/flyte-binary/clusters/states"
	"github.com/flyte-binary/flyte-binary/dataproxy"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
	"github.com/flyte-binary/flyte-binary/pools"
	"github.com/flyte-binary/flyte-binary/runs/asks"
	"github.com/flyte-binary/flyte-binary/runs/placement"
)

// Placeable says to the runs service which clusters the registry knows.
type Placeable struct {
	States *states.Reader
	Clock  clock.Clock
}

// Clusters implements admission.Clusters. As long as no cluster is registered and no controller has reported, nothing is known, and only
// queues name clusters. A cluster that is registered counts before its controller connects: what is created until then waits for it, and
// does not go to the default cluster, which may not exist.
func (p Placeable) Clusters(ctx context.Context) ([]placement.Cluster, map[string]time.Time, error) {
	all, err := p.States.All(ctx)
	if err != nil {
		return nil, nil, err
	}
	if len(all) == 0 {
		return nil, nil, nil
	}
	now := p.Clock.Now()
	known, seen := make([]placement.Cluster, 0, len(all)), make(map[string]time.Time, len(all))
	for i := range all {
		known = append(known, placeable(&all[i], now))
		seen[all[i].Name] = all[i].SeenAt
	}
	return known, seen, nil
}

// placeable is a cluster for placement.
func placeable(s *states.State, now time.Time) placement.Cluster {
	c := placement.Cluster{
		Name: s.Name, Unseen: !s.Known(), Away: s.Away(now), Weight: s.Weight, Pools: s.Pools, Labels: s.Labels,
		Capacity: placement.Amounts(s.Capacity), Free: placement.Amounts(s.Free), Largest: placement.Amounts(s.Largest),
		PodPolicy: s.PodPolicy,
	}
	switch {
	case s.State == states.Cordoned:
		c.Closed, c.Away = sentence.Say("is cordoned"), false
	case s.State == states.Draining:
		c.Closed, c.Away = sentence.Say("is draining"), false
	case s.State == states.Removed:
		c.Closed, c.Away = sentence.Say("was removed"), false
	case c.Away:
		c.Closed = sentence.Say("is away")
	}
	if s.Known() {
		c.TaskTypes = append([]string{}, s.TaskTypes...)
	}
	if len(s.Accelerators) > 0 { // without any, an autoscaler may add the first
		c.Accelerators = s.Accelerators
	}
	return c
}

// Closed says to the pools of workers which clusters take no new work.
type Closed struct {
	States *states.Reader
	Clock  clock.Clock
}

// Closed implements pools.Clusters.
func (c Closed) Closed(ctx context.Context) (map[string]pools.Closed, error) {
	all, err := c.States.All(ctx)
	if err != nil {
		return nil, err
	}
	closed, now := map[string]pools.Closed{}, c.Clock.Now()
	for i := range all {
		if one := placeable(&all[i], now); one.Closed != "" {
			closed[one.Name] = pools.Closed{
				Words: one.Closed, Empties: all[i].State == states.Draining, Removed: all[i].State == states.Removed,
			}
		}
	}
	return closed, nil
}

// Asked says what tasks get of the cluster that ask for nothing, as far as the configuration of this process tells, and what
// policies of pods say to them.
func Asked(pods podspec.Config, reviewers *podspec.Reviewers) asks.Rules {
	return asks.Rules{
		CPU: pods.DefaultCPU, Memory: pods.DefaultMemory,
		Device: func(given *core.GPUAccelerator) string { return podspec.DeviceOf(pods, given) },
		Pods:   func(template *core.TaskTemplate) asks.Pods { return reviewers.Read(template) },
	}
}

// Named says to the data proxy which clusters the registry knows.
type Named struct{ States *states.Reader }

// Clusters implements dataproxy.Clusters.
func (n Named) Clusters(ctx context.Context) ([]dataproxy.Cluster, error) {
	all, err := n.States.All(ctx)
	clusters := make([]dataproxy.Cluster, len(all))
	for i := range all {
		clusters[i] = dataproxy.Cluster{Name: all[i].Name, Pools: all[i].Pools}
	}
	return clusters, err
}
