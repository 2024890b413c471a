package spark

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyte-binary/flyte-binary/executor/plugins/operated"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// Name selects this plugin in the configuration and in tasks. It is the task type, too.
const Name = "spark"

// maxName leaves room for "-driver" and what Spark appends to the names of executors, within the 63 characters of a label.
const maxName = 40

// The roles of pods.
const (
	driver   = "driver"
	executor = "executor"
)

// Definition describes the plugin to the executor.
func Definition(pods podspec.Config, own operated.Config) plugin.Definition {
	return operated.Definition(operated.Kind{
		Name: Name, Types: []string{Name}, Install: "the Spark operator",
		Object:   schema.GroupVersionKind{Group: "sparkoperator.k8s.io", Version: "v1beta2", Kind: "SparkApplication"},
		Resource: "sparkapplications", MaxName: maxName, Container: container,
		Spec: build{account: own.SparkServiceAccount}.spec, Read: read, Primary: operated.HasRole(driver),
		KeepsPrimary: true,
	}, pods, own)
}

// read says what the state of an application means.
func read(object *unstructured.Unstructured) operated.Reading {
	state := operated.Text(object, "status", "applicationState", "state")
	reading := operated.Reading{Reason: state, Message: operated.Text(object, "status", "applicationState", "errorMessage")}
	switch state {
	case "COMPLETED":
		return operated.Reading{Phase: common.ActionPhase_ACTION_PHASE_SUCCEEDED}
	case "FAILED":
		// One that was never submitted successfully ends as FAILED, too.
		executions, _, _ := unstructured.NestedInt64(object.Object, "status", "executionAttempts")
		reading.Phase, reading.ByUser = common.ActionPhase_ACTION_PHASE_FAILED, executions > 0
	case "SUBMISSION_FAILED":
		reading.Phase = common.ActionPhase_ACTION_PHASE_FAILED
	case "SUBMITTED", "PENDING_RERUN", "PENDING_SUBMISSION", "FAILING", "SUCCEEDING":
		reading.Phase = common.ActionPhase_ACTION_PHASE_INITIALIZING
	case "SUSPENDING", "SUSPENDED":
		reading.Suspended = true
	default:
		return operated.Reading{Suspended: operated.Suspended(object, "suspend")}
	}
	return reading
}
