package ray

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyte-binary/flyte-binary/executor/plugins/operated"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// Name selects this plugin in the configuration and in tasks. It is the task type, too.
const Name = "ray"

// maxName is what KubeRay admits as the name of a RayJob.
const maxName = 47

// The roles of pods.
const (
	head      = "head"
	worker    = "worker"
	submitter = "submitter"
)

// Definition describes the plugin to the executor.
func Definition(pods podspec.Config, own operated.Config) plugin.Definition {
	return operated.Definition(operated.Kind{
		Name: Name, Types: []string{Name}, Install: "the KubeRay operator",
		Object:   schema.GroupVersionKind{Group: "ray.io", Version: "v1", Kind: "RayJob"},
		Resource: "rayjobs", MaxName: maxName,
		Spec: spec, Read: read, Primary: operated.HasRole(submitter),
		// It fails when it loses the head.
		Followers: []string{submitter},
	}, pods, own)
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
		reading.NotStarted = reading.Reason == "SubmissionFailed" && job == ""
	case "Initializing", "Waiting", "Retrying":
		reading.Phase = common.ActionPhase_ACTION_PHASE_INITIALIZING
		reading.Message = cmp.Or(reading.Message, "the Ray cluster is being created")
	case "Suspending", "Suspended":
		reading.Suspended = true
	default:
		reading.Reason, reading.Message = "", ""
	}
	return reading
}
