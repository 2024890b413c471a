package podspec

import (
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// Different is how the pods of a role differ from the task. The zero value is the task's own pod.
type Different struct {
	// Image replaces the image of the task; empty keeps it.
	Image string
	// Resources replace those of the task; nil keeps them.
	Resources *core.Resources
	// Extended replaces the accelerators of the task, if it or Resources is set.
	Extended *core.ExtendedResources
	// Pod replaces the pod of the task; nil keeps it. Its primary container gets the image and the variables of the
	// task where it has none of its own.
	Pod *core.K8SPod
	// Container is the name that clients give the container of the task in Pod where it names no primary container.
	Container string
	// NoProgram removes command and arguments: the operator sets them.
	NoProgram bool
	// OwnFiles is that of the role.
	OwnFiles bool
}

// RoleOf returns the role of a task's attempt with its differences. Its task container has the name that the task's own pod
// gives it.
func RoleOf(task *core.TaskTemplate, name string, different Different) Role {
	template := proto.CloneOf(task)
	if different.Pod != nil {
		template.Target = &core.TaskTemplate_K8SPod{K8SPod: overlay(task, different.Pod, different.Container)}
	}
	if container := template.GetContainer(); container != nil {
		if different.Image != "" {
			container.Image = different.Image
		}
		if different.Resources != nil {
			container.Resources = different.Resources
		}
		if different.NoProgram {
			container.Command, container.Args = nil, nil
		}
	} else if own := primaryOf(template.GetK8SPod().GetPodSpec(), PrimaryName(template)); own != nil {
		if different.Image != "" {
			own.Fields["image"] = structpb.NewStringValue(different.Image)
		}
		if different.NoProgram {
			delete(own.GetFields(), "command")
			delete(own.GetFields(), "args")
		}
	}
	if different.Extended != nil || different.Resources != nil {
		template.ExtendedResources = different.Extended
	}
	return Role{Name: name, Template: template, OwnFiles: different.OwnFiles}
}

// overlay returns the pod of a role, completed from the task. The container of the task is the one that the pod calls
// primary, else the one with the given name, else the only one.
func overlay(task *core.TaskTemplate, pod *core.K8SPod, named string) *core.K8SPod {
	result := proto.CloneOf(pod)
	own := primaryOf(result.GetPodSpec(), result.GetPrimaryContainerName())
	if own == nil {
		own = primaryOf(result.GetPodSpec(), named)
	}
	if containers := result.GetPodSpec().GetFields()["containers"].GetListValue().GetValues(); own == nil && len(containers) == 1 {
		own = containers[0].GetStructValue()
	}
	if own == nil {
		return result // it has no container for the task, which the builder refuses in words
	}
	name := PrimaryName(task)
	own.Fields["name"] = structpb.NewStringValue(name)
	result.PrimaryContainerName = name
	image, env := task.GetContainer().GetImage(), []*structpb.Value(nil)
	for _, pair := range task.GetContainer().GetEnv() {
		variable := Variable(pair.GetKey(), pair.GetValue())
		env = append(env, structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
			"name": structpb.NewStringValue(variable.Name), "value": structpb.NewStringValue(variable.Value),
		}}))
	}
	if theirs := primaryOf(task.GetK8SPod().GetPodSpec(), name); theirs != nil {
		image, env = theirs.GetFields()["image"].GetStringValue(), theirs.GetFields()["env"].GetListValue().GetValues()
	}
	if own.GetFields()["image"].GetStringValue() == "" && image != "" {
		own.Fields["image"] = structpb.NewStringValue(image)
	}
	own.Fields["env"] = structpb.NewListValue(&structpb.ListValue{Values: mergedEnv(own.GetFields()["env"].GetListValue().GetValues(), env)})
	return result
}

// mergedEnv adds the variables of the task that a container does not have.
func mergedEnv(own, task []*structpb.Value) []*structpb.Value {
	nameOf := func(variable *structpb.Value) string {
		return variable.GetStructValue().GetFields()["name"].GetStringValue()
	}
	result := slices.Clone(own)
	for _, variable := range task {
		if !slices.ContainsFunc(own, func(has *structpb.Value) bool { return nameOf(has) == nameOf(variable) }) {
			result = append(result, variable)
		}
	}
	return result
}

// primaryOf returns the container with this name of an encoded pod spec, or nil.
func primaryOf(spec *structpb.Struct, name string) *structpb.Struct {
	for _, one := range spec.GetFields()["containers"].GetListValue().GetValues() {
		if container := one.GetStructValue(); name != "" && container.GetFields()["name"].GetStringValue() == name {
			return container
		}
	}
	return nil
}
