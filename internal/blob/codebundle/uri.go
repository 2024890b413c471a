// Package codebundle finds the code that was shipped with a task, whose URI clients put into the arguments of its container.
package codebundle

import (
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// URI is the URI of the code of a task: from the arguments of its container, else from the template itself. It is empty
// when the code is in the image.
func URI(template *core.TaskTemplate) string {
	if uri := bundleOf(template.GetContainer().GetArgs()); uri != "" {
		return uri
	}
	if uri := bundleOf(podArgs(template)); uri != "" {
		return uri
	}
	return template.GetMetadata().GetCodeBundleUri()
}

func bundleOf(args []string) string {
	pickled := ""
	for i := range len(args) - 1 {
		switch args[i] {
		case "--tgz":
			return args[i+1]
		case "--pkl":
			pickled = args[i+1]
		}
	}
	return pickled
}

// Args are the arguments of the container of a task: its own, else those of the primary container of its pod.
func Args(template *core.TaskTemplate) []string {
	if args := template.GetContainer().GetArgs(); len(args) > 0 {
		return args
	}
	return podArgs(template)
}

func podArgs(template *core.TaskTemplate) []string {
	primary := template.GetK8SPod().GetPrimaryContainerName()
	if primary == "" {
		primary = template.GetConfig()["primary_container_name"]
	}
	containers := template.GetK8SPod().GetPodSpec().GetFields()["containers"].GetListValue().GetValues()
	if len(containers) == 0 {
		return nil
	}
	chosen := containers[0].GetStructValue()
	for _, container := range containers {
		if primary != "" && container.GetStructValue().GetFields()["name"].GetStringValue() == primary {
			chosen = container.GetStructValue()
			break
		}
	}
	return texts(chosen.GetFields()["args"].GetListValue())
}

func texts(values *structpb.ListValue) []string {
	result := make([]string, len(values.GetValues()))
	for i, value := range values.GetValues() {
		result[i] = value.GetStringValue()
	}
	return result
}
