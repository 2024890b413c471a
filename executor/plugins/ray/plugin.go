package ray

import (
	"cmp"
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyte-binary/flyte-binary/executor/plugins/operated"
	"github.com/flyte-binary/flyte-binary/executor/plugins/ray/manifest"
	"github.com/flyte-binary/flyte-binary/executor/plugins/ray/rayclusters"
	"github.com/flyte-binary/flyte-binary/executor/plugins/ray/sharing"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/plugins"
	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// Name selects this plugin in the configuration and in tasks. It is the task type, too.
const Name = "ray"

// maxName is what KubeRay admits as the name of a RayJob.
const maxName = 47

// Definition describes the plugin to the executor.
func Definition(pods podspec.Config, own operated.Config) plugin.Definition {
	definition := operated.Definition(kind(nil), pods, own)
	definition.New = func(deps plugin.Deps) (plugin.Plugin, error) { return newRay(pods, own, deps) }
	definition.Rights = append(definition.Rights, rayclusters.Rights()...)
	return definition
}

// kind describes RayJobs with the given specification.
func kind(spec func(context.Context, *operated.Draft) (map[string]any, error)) operated.Kind {
	return operated.Kind{
		Name: Name, Types: []string{Name}, Install: "the KubeRay operator",
		Object:   schema.GroupVersionKind{Group: "ray.io", Version: "v1", Kind: "RayJob"},
		Resource: "rayjobs", MaxName: maxName,
		Spec: spec, Read: read, Primary: operated.HasRole(manifest.Submitter),
		// It fails when it loses the head.
		Followers: []string{manifest.Submitter},
	}
}

// ray is the plugin of RayJobs, with the clusters that attempts share.
type ray struct {
	*operated.Plugin

	own     operated.Config
	deps    plugin.Deps
	specs   *podspec.Builder // of the pods of shared clusters
	sharing *sharing.Keeper
}

var (
	_ plugin.Plugin     = (*ray)(nil)
	_ plugin.Watcher    = (*ray)(nil)
	_ plugin.Logged     = (*ray)(nil)
	_ plugin.Rememberer = (*ray)(nil)
	_ plugin.Runner     = (*ray)(nil)
)

func newRay(pods podspec.Config, own operated.Config, deps plugin.Deps) (*ray, error) {
	specs, err := podspec.New(pods, podspec.Deps{Live: deps.Live, Store: deps.Store, Clock: deps.Clock})
	if err != nil {
		return nil, err
	}
	r := &ray{own: own, deps: deps, specs: specs, sharing: sharing.New(deps, sharing.Limits{
		All: own.MaxSharedRayClusters, PerProject: own.MaxSharedRayClustersPerProject,
	})}
	r.Plugin, err = operated.New(kind(r.spec), pods, own, deps)
	return r, err
}

// spec returns the specification of the RayJob. An attempt whose environment keeps a cluster gets that one, and the others one of their own.
func (r *ray) spec(ctx context.Context, draft *operated.Draft) (map[string]any, error) {
	wanted := &plugins.RayJob{}
	if err := draft.Custom(wanted); err != nil {
		return nil, err
	}
	if draft.Template.GetReusePolicy() != nil {
		return r.sharedSpec(ctx, draft, wanted)
	}
	return manifest.Job(ctx, draft, wanted)
}

// read says what the status of a RayJob means.
func read(object *unstructured.Unstructured) operated.Reading {
	deployment, job := operated.Text(object, "status", "jobDeploymentStatus"), operated.Text(object, "status", "jobStatus")
	reading := operated.Reading{
		Reason: cmp.Or(operated.Text(object, "status", "reason"), deployment), Message: operated.Text(object, "status", "message"),
		Suspended: operated.Suspended(object, "suspend"),
	}
	switch deployment {
	case "Complete":
		if job == "STOPPED" || job == "FAILED" {
			reading.Phase, reading.Program = common.ActionPhase_ACTION_PHASE_FAILED, true
			return reading
		}
		return operated.Reading{Phase: common.ActionPhase_ACTION_PHASE_SUCCEEDED}
	case "Failed", "ValidationFailed":
		reading.Phase = common.ActionPhase_ACTION_PHASE_FAILED
		reading.Program = reading.Reason == "AppFailed"
		reading.ByUser = deployment == "ValidationFailed"
		// KubeRay looked at the job more than 30 s after the pod that submits had ended, as it does on a cluster that is too busy.
		reading.Unseen = reading.Reason == "JobDeploymentStatusTransitionGracePeriodExceeded"
		reading.NotStarted = reading.Reason == "SubmissionFailed" && job == ""
	case "Initializing", "Waiting", "Retrying":
		reading.Phase = common.ActionPhase_ACTION_PHASE_INITIALIZING
		reading.Message = cmp.Or(reading.Message, sentence.Say("the Ray cluster is being created"))
	case "Suspending", "Suspended":
		reading.Suspended = true
	default:
		reading.Reason, reading.Message = "", ""
	}
	return reading
}
