package dask

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyte-binary/flyte-binary/executor/plugins/operated"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// Name selects this plugin in the configuration and in tasks. It is the task type, too.
const Name = "dask"

// maxName leaves room for "-default-worker-" and ten characters, within the 63 characters of a label.
const maxName = 36

// The roles of pods.
const (
	runner    = "runner"
	scheduler = "scheduler"
	worker    = "worker"
)

// Definition describes the plugin to the executor.
func Definition(pods podspec.Config, own operated.Config) plugin.Definition {
	return operated.Definition(operated.Kind{
		Name: Name, Types: []string{Name}, Install: "the Dask operator",
		Object:   schema.GroupVersionKind{Group: "kubernetes.dask.org", Version: "v1", Kind: "DaskJob"},
		Resource: "daskjobs", MaxName: maxName,
		Spec: spec, Read: read, Primary: operated.HasRole(runner), KeepsPrimary: true,
	}, pods, own)
}

// read says what the status of a DaskJob means.
func read(object *unstructured.Unstructured) operated.Reading {
	switch status := operated.Text(object, "status", "jobStatus"); status {
	case "Successful":
		return operated.Reading{Phase: common.ActionPhase_ACTION_PHASE_SUCCEEDED}
	case "Failed":
		return operated.Reading{Phase: common.ActionPhase_ACTION_PHASE_FAILED, Reason: status, Message: "the job runner failed", ByUser: true}
	case "Running":
		return operated.Reading{Begun: true}
	case "JobCreated", "ClusterCreated":
		return operated.Reading{Phase: common.ActionPhase_ACTION_PHASE_INITIALIZING, Reason: status, Message: sentence.Say("the Dask operator creates the cluster")}
	}
	return operated.Reading{}
}
