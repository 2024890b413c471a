package podspec

import (
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
	// NoProgram removes command and arguments: the operator sets them.
	NoProgram bool
}

// RoleOf returns the role of a task's attempt with its differences. Its task container has the name that the task's own pod
// gives it.
func RoleOf(task *core.TaskTemplate, name string, different Different) Role {
	template := proto.CloneOf(task)
	if different.Pod != nil {
		template.Target = &core.TaskTemplate_K8SPod{K8SPod: overlay(task, different.Pod, name)}
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
	return Role{Name: name, Template: template}
}

// overlay returns the pod of a role, completed from the task. Clients name the container of the task after its pod's
// role, or leave one container without a meaning of its name.
func overlay(task *core.TaskTemplate, pod *core.K8SPod, role string) *core.K8SPod {
	result := proto.CloneOf(pod)
	name := PrimaryName(task)
	own := primaryOf(result.GetPodSpec(), result.GetPrimaryContainerName())
	if own == nil {
		own = primaryOf(result.GetPodSpec(), "ray-"+role)
	}
	if containers := result.GetPodSpec().GetFields()["containers"].GetListValue().GetValues(); own == nil && len(containers) == 1 {
		own = containers[0].GetStructValue()
	}
	if own == nil {
		return result // it has no container for the task, which the builder refuses in words
	}
	own.Fields["name"] = structpb.NewStringValue(name)
	result.PrimaryContainerName = name
	image, env := task.GetContainer().GetImage(), map[string]string{}
	for _, pair := range task.GetContainer().GetEnv() {
		env[pair.GetKey()] = pair.GetValue()
	}
	if theirs := primaryOf(task.GetK8SPod().GetPodSpec(), name); theirs != nil {
		image = theirs.GetFields()["image"].GetStringValue()
		for _, one := range theirs.GetFields()["env"].GetListValue().GetValues() {
			fields := one.GetStructValue().GetFields()
			if value, plain := fields["value"]; plain {
				env[fields["name"].GetStringValue()] = value.GetStringValue()
			}
		}
	}
	if own.GetFields()["image"].GetStringValue() == "" && image != "" {
		own.Fields["image"] = structpb.NewStringValue(image)
	}
	addEnv(own, env)
	return result
}

func addEnv(container *structpb.Struct, env map[string]string) {
	list := container.GetFields()["env"].GetListValue()
	if list == nil {
		list = &structpb.ListValue{}
	}
	for _, one := range list.GetValues() {
		delete(env, one.GetStructValue().GetFields()["name"].GetStringValue())
	}
	for name, value := range env {
		list.Values = append(list.Values, structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
			"name": structpb.NewStringValue(name), "value": structpb.NewStringValue(value),
		}}))
	}
	container.Fields["env"] = structpb.NewListValue(list)
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
