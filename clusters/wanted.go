package clusters

import (
	"context"
	"regexp"
	"time"

	"github.com/flyte-binary/flyte-binary/clusters/states"
	"github.com/flyte-binary/flyte-binary/clusters/store"
	clustersv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1"
	"github.com/flyte-binary/flyte-binary/internal/names/caller"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// SetState records what an operator wants of a cluster: states.Ready, states.Cordoned or states.Draining. deadline is how long attempts
// may still run on a draining cluster; nil means until they end.
func (r *Registry) SetState(ctx context.Context, name, state, by, note string, deadline *time.Duration) error {
	wanted := store.Wanted{State: state, By: by, Note: note, At: r.clock.Now()}
	if deadline != nil {
		until := wanted.At.Add(*deadline)
		wanted.Until = &until
	}
	return problem(r.store.SetState(ctx, name, wanted), name)
}

// labelKey is what a key of a label looks like in Kubernetes.
var labelKey = regexp.MustCompile(`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)

// labelValue is what a value of a label looks like.
var labelValue = regexp.MustCompile(`^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`)

// Update changes what operators say about a cluster. It fills change.At.
func (r *Registry) Update(ctx context.Context, name string, change store.Update) error {
	change.At = r.clock.Now()
	for key, value := range change.Labels {
		if !labelKey.MatchString(key) {
			return rpc.InvalidArgument("labels.values", "%q cannot be the key of a label", key)
		}
		if !labelValue.MatchString(value) {
			return rpc.InvalidArgument("labels.values["+key+"]", "%q cannot be the value of a label", value)
		}
	}
	return problem(r.store.Update(ctx, name, change), name)
}

// CordonCluster implements clustersv1connect.ClusterRegistryServiceHandler.
func (h *handler) CordonCluster(ctx context.Context, request *clustersv1.CordonClusterRequest) (*clustersv1.CordonClusterResponse, error) {
	now, err := h.set(ctx, request.GetName(), states.Cordoned, request.GetNote(), nil)
	return &clustersv1.CordonClusterResponse{Cluster: now}, err
}

// UncordonCluster implements clustersv1connect.ClusterRegistryServiceHandler.
func (h *handler) UncordonCluster(ctx context.Context, request *clustersv1.UncordonClusterRequest) (*clustersv1.UncordonClusterResponse, error) {
	now, err := h.set(ctx, request.GetName(), states.Ready, "", nil)
	return &clustersv1.UncordonClusterResponse{Cluster: now}, err
}

// DrainCluster implements clustersv1connect.ClusterRegistryServiceHandler.
func (h *handler) DrainCluster(ctx context.Context, request *clustersv1.DrainClusterRequest) (*clustersv1.DrainClusterResponse, error) {
	var deadline *time.Duration
	if given := request.GetDeadline(); given != nil {
		d := given.AsDuration()
		deadline = &d
	}
	now, err := h.set(ctx, request.GetName(), states.Draining, request.GetNote(), deadline)
	return &clustersv1.DrainClusterResponse{Cluster: now}, err
}

// UpdateCluster implements clustersv1connect.ClusterRegistryServiceHandler.
func (h *handler) UpdateCluster(ctx context.Context, request *clustersv1.UpdateClusterRequest) (*clustersv1.UpdateClusterResponse, error) {
	change := store.Update{By: caller.Subject(ctx)}
	if given := request.GetLabels(); given != nil {
		if change.Labels = given.GetValues(); change.Labels == nil {
			change.Labels = map[string]string{}
		}
	}
	if request.Weight != nil {
		weight := int(request.GetWeight())
		change.Weight = &weight
	}
	if given := request.GetPools(); given != nil {
		change.Pools = append([]string{}, given.GetNames()...)
	}
	if err := h.registry.Update(ctx, request.GetName(), change); err != nil {
		return nil, err
	}
	now, err := h.get(ctx, request.GetName())
	return &clustersv1.UpdateClusterResponse{Cluster: now}, err
}

func (h *handler) set(ctx context.Context, name, state, note string, deadline *time.Duration) (*clustersv1.Cluster, error) {
	if err := h.registry.SetState(ctx, name, state, caller.Subject(ctx), note, deadline); err != nil {
		return nil, err
	}
	return h.get(ctx, name)
}

// get reads a cluster after a change of it.
func (h *handler) get(ctx context.Context, name string) (*clustersv1.Cluster, error) {
	h.states.Forget()
	return h.read(ctx, name)
}

// read reads a cluster.
func (h *handler) read(ctx context.Context, name string) (*clustersv1.Cluster, error) {
	found, err := h.registry.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	all, err := h.states.All(ctx)
	if err != nil {
		return nil, err
	}
	work, err := h.registry.Work(ctx, name)
	if err != nil {
		return nil, err
	}
	return h.message(found, stateOf(all, name), work), nil
}
