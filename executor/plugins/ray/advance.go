package ray

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/executor/plugins/ray/rayclusters"
	"github.com/flyte-binary/flyte-binary/executor/plugins/ray/sharing"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// look is how often an attempt in a shared cluster looks whether the cluster still exists.
const look = 10 * time.Second

// Run implements plugin.Runner: it ends shared clusters that no one uses.
func (r *ray) Run(ctx context.Context) error { return r.sharing.Run(ctx) }

// Advance implements plugin.Plugin.
func (r *ray) Advance(ctx context.Context, attempt *plugin.Attempt) (plugin.State, error) {
	state, err := r.Plugin.Advance(ctx, attempt)
	if full := (*sharing.FullError)(nil); errors.As(err, &full) {
		return plugin.State{
			Phase: common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES, Reason: "SharedRayClustersFull", Message: full.Error(), Recheck: look,
		}, nil
	}
	if err != nil || attempt.Template.GetReusePolicy() == nil || state.Phase >= common.ActionPhase_ACTION_PHASE_SUCCEEDED {
		return state, err
	}
	object, found, err := r.Find(ctx, attempt)
	if err != nil || !found {
		return state, err
	}
	return r.inCluster(ctx, attempt, state, object)
}

// inCluster adds to the state of a live attempt what it should know of the cluster that it shares. KubeRay waits without a limit for one
// that is gone.
func (r *ray) inCluster(
	ctx context.Context, attempt *plugin.Attempt, state plugin.State, object *unstructured.Unstructured,
) (plugin.State, error) {
	name, uid := used(object)
	if name.Name == "" {
		return state, nil // it began before this version
	}
	cluster, err := r.sharing.Look(ctx, name, uid)
	if err != nil {
		return state, err
	}
	if cluster.UID != uid || cluster.Ending {
		state.Fail(failure.New(failure.DeletedExternally, "the shared RayCluster %s, in which the task ran, is gone", name.Name))
		state.StillRuns = true
		return state, nil
	}
	if state.Recheck == 0 || state.Recheck > look {
		state.Recheck = look
	}
	if state.Message != "" && !state.Expected {
		return state, nil
	}
	state.Reason = "SharedRayCluster"
	switch {
	case state.Phase >= common.ActionPhase_ACTION_PHASE_RUNNING:
		state.Expected = true
		state.Message = sentence.Say("shares the Ray cluster %s with other attempts of its environment", name.Name)
	case cluster.Suspended:
		state.Phase, state.Expected = common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES, true
		state.Message = sentence.Say("the shared Ray cluster %s is suspended until its queue admits it", name.Name)
	case !cluster.Ready:
		state.Expected = true
		state.Message = sentence.Say("the shared Ray cluster %s is being created", name.Name)
		err = r.AddWait(ctx, &state, attempt, "the shared Ray cluster "+name.Name, cluster.Pods)
	default:
		state.Expected = true
		state.Message = sentence.Say("waits for the shared Ray cluster %s to take the task", name.Name)
	}
	return state, err
}

// used is the shared cluster that a RayJob uses; without a name if it has one of its own.
func used(object *unstructured.Unstructured) (types.NamespacedName, types.UID) {
	labels := object.GetLabels()
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: labels[rayclusters.LabelCluster]}, types.UID(labels[rayclusters.LabelUID])
}

// Remove implements plugin.Plugin. KubeRay stops the job of a RayJob that is deleted before its end. The cluster stays.
func (r *ray) Remove(ctx context.Context, attempt *plugin.Attempt) error {
	var name types.NamespacedName
	var uid types.UID
	object, found, err := r.Find(ctx, attempt)
	if found {
		name, uid = used(object)
	}
	if err = errors.Join(err, r.Plugin.Remove(ctx, attempt)); err != nil || name.Name == "" {
		return err
	}
	return r.sharing.Release(ctx, name, uid)
}
