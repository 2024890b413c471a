package script

import (
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// What makes the pods of a task; nothing means that the task is one pod.
const (
	ViaJob     = "job"
	ViaJobSet  = "jobset"
	ViaPyTorch = "pytorch"
	ViaRay     = "ray"
)

// ViaConnector is a task without pods: a connector runs it as a job.
const ViaConnector = "connector"

// JobType is the type of the tasks that the connector runs.
const JobType = "storm_job"

// Vias are those that make pods.
func Vias() []string { return []string{ViaJob, ViaJobSet, ViaPyTorch, ViaRay} }

// MemberEnv is a variable of processes that only belong to a cluster of processes and do not follow the script. Its value says
// what they do: MemberEnds or MemberStays.
const (
	MemberEnv   = "STORM_MEMBER"
	MemberEnds  = "ends"  // soon, and well
	MemberStays = "stays" // until it is killed
)

// via makes a template one of a task that is not one pod.
func via(template *core.TaskTemplate, how string) {
	switch how {
	case ViaJob:
		template.Config = map[string]string{"plugin": "job"}
	case ViaJobSet:
		template.Type = "clustered-task"
		template.Custom = custom(map[string]any{"replicas": 2, "nprocPerNode": 1})
	case ViaPyTorch:
		template.Type = "pytorch"
		template.Custom = custom(map[string]any{"workers": 1})
	case ViaConnector:
		template.Type = JobType
	case ViaRay:
		template.Type = "ray"
		template.Custom = custom(map[string]any{"rayCluster": map[string]any{
			"headGroupSpec": map[string]any{}, "workerGroupSpec": []any{map[string]any{"groupName": "some", "replicas": 1}},
		}})
	}
}

func custom(fields map[string]any) *structpb.Struct {
	encoded, err := structpb.NewStruct(fields)
	if err != nil {
		panic(err) // only of values that are written above
	}
	return encoded
}
