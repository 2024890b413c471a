package clusters

import (
	"cmp"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/clusters/links"
	"github.com/flyte-binary/flyte-binary/clusters/states"
	"github.com/flyte-binary/flyte-binary/clusters/store"
	clustersv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1"
)

// stateOf is the state of a cluster among all, which are in alphabetical order. One that was added since they were read is ready.
func stateOf(all []states.State, name string) states.State {
	i, found := slices.BinarySearchFunc(all, name, func(s states.State, name string) int { return strings.Compare(s.Name, name) })
	if !found {
		return states.State{Name: name, State: states.Ready, Weight: 1}
	}
	return all[i]
}

// message is the message about a cluster.
func (h *handler) message(c store.Cluster, s states.State, work Work) *clustersv1.Cluster {
	out := &clustersv1.Cluster{
		Name: c.Name, CreatedBy: c.CreatedBy, CreatedAt: timestamppb.New(c.CreatedAt),
		State: links.Wanted(s.State), Weight: uint32(s.Weight), Pools: s.Pools, Labels: s.Labels, Version: s.Version, //nolint:gosec // not negative
		Controllers: uint32(s.Controllers), Plugins: s.Plugins, TaskTypes: s.TaskTypes, Accelerators: s.Accelerators, //nolint:gosec // a count
		Policy: s.Policy, VersionNote: links.VersionNote(cmp.Or(s.Refused, s.Version), h.version), Capacity: s.Capacity, Free: s.Free, Largest: s.Largest, StateBy: s.By, StateNote: s.Note, GivenLabels: s.Given, Work: workOf(work),
		Stores: h.stores(c.Name, s.Labels),
	}
	if !s.At.IsZero() {
		out.StateAt = timestamppb.New(s.At)
	}
	if !s.Until.IsZero() {
		out.DrainUntil = timestamppb.New(s.Until)
	}
	for _, one := range c.Credentials {
		out.Credentials = append(out.Credentials, credentialOf(one))
	}
	if s.Known() {
		out.Health, out.ConnectedAt, out.SeenAt = clustersv1.ClusterHealth_CLUSTER_HEALTH_CONNECTED, timestamppb.New(s.ConnectedAt), timestamppb.New(s.SeenAt)
	}
	if s.Away(h.clock.Now()) {
		out.Health = clustersv1.ClusterHealth_CLUSTER_HEALTH_AWAY
		if h.lostAfter > 0 {
			out.LostAt = timestamppb.New(s.SeenAt.Add(h.lostAfter))
		}
	}
	return out
}
