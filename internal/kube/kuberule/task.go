package kuberule

import (
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// maxPortNumber is the largest number of a port.
const maxPortNumber = 65535

// Task returns the path of the first field of a task template that no pod could have, and the reason; both are empty if there
// is none.
func Task(template *core.TaskTemplate) (path, words string) {
	for _, check := range []func(*core.TaskTemplate) (path, words string){ofMetadata, ofContainer, ofPod, ofNames} {
		if path, words = check(template); words != "" {
			return path, words
		}
	}
	return "", ""
}

func ofMetadata(template *core.TaskTemplate) (path, words string) {
	for _, one := range []struct {
		path string
		of   *core.K8SObjectMetadata
	}{
		{"metadata.metadata.", template.GetMetadata().GetMetadata()}, {"k8s_pod.metadata.", template.GetK8SPod().GetMetadata()},
	} {
		if path, words = labels(one.path+"labels", one.of.GetLabels()); words != "" {
			return path, words
		}
		if path, words = annotations(one.path+"annotations", one.of.GetAnnotations()); words != "" {
			return path, words
		}
	}
	return "", ""
}

func ofContainer(template *core.TaskTemplate) (path, words string) {
	container := template.GetContainer()
	for i, pair := range container.GetEnv() {
		if !IsVariable(pair.GetKey()) {
			return fmt.Sprintf("container.env[%d].key", i), quoted(pair.GetKey()) + " is not a valid environment variable name: it " + VariableRule
		}
	}
	for i, port := range container.GetPorts() {
		if number := port.GetContainerPort(); number < 1 || number > maxPortNumber {
			return fmt.Sprintf("container.ports[%d].container_port", i), fmt.Sprintf("a port is from 1 to %d, got %d", maxPortNumber, number)
		}
		if name := port.GetName(); name != "" && !IsPort(name) {
			return fmt.Sprintf("container.ports[%d].name", i), quoted(name) + " is not a valid port name: it " + PortRule
		}
	}
	return "", ""
}

// ofNames checks what a task refers to by name, and what its pod gets from fields that are not the pod's own.
func ofNames(template *core.TaskTemplate) (path, words string) {
	for i, secret := range template.GetSecurityContext().GetSecrets() {
		if name := secret.GetEnvVar(); name != "" && !IsVariable(name) {
			return fmt.Sprintf("security_context.secrets[%d].env_var", i), quoted(name) + " is not a valid environment variable name: it " + VariableRule
		}
	}
	for _, named := range []struct{ path, name string }{
		{"security_context.run_as.k8s_service_account", template.GetSecurityContext().GetRunAs().GetK8SServiceAccount()},
		{"metadata.pod_template_name", template.GetMetadata().GetPodTemplateName()},
	} {
		if named.name != "" && !IsName(named.name) {
			return named.path, quoted(named.name) + " is not a valid Kubernetes object name: it " + NameRule
		}
	}
	if name := template.GetExtendedResources().GetSharedMemory().GetMountName(); name != "" && !IsLabel(name) {
		return "extended_resources.shared_memory.mount_name", quoted(name) + " is not a valid volume name: it " + LabelRule
	}
	return "", ""
}

// ofPod checks names in a pod spec. Fields of other types than Kubernetes has are left to the executor.
func ofPod(template *core.TaskTemplate) (path, words string) {
	spec := template.GetK8SPod().GetPodSpec()
	containers, volumes := names{kind: "container"}, names{kind: "volume"}
	for _, list := range []string{"initContainers", "containers"} {
		for i, container := range listOf(spec, list) {
			at := fmt.Sprintf("k8s_pod.pod_spec.%s[%d]", list, i)
			if words = containers.add(textOf(container, "name")); words != "" {
				return at + ".name", words
			}
			for j, variable := range listOf(container, "env") {
				if name := textOf(variable, "name"); !IsVariable(name) {
					return fmt.Sprintf("%s.env[%d].name", at, j), quoted(name) + " is not a valid environment variable name: it " + VariableRule
				}
			}
			for j, port := range listOf(container, "ports") {
				if name := textOf(port, "name"); name != "" && !IsPort(name) {
					return fmt.Sprintf("%s.ports[%d].name", at, j), quoted(name) + " is not a valid port name: it " + PortRule
				}
			}
		}
	}
	for i, volume := range listOf(spec, "volumes") {
		if words = volumes.add(textOf(volume, "name")); words != "" {
			return fmt.Sprintf("k8s_pod.pod_spec.volumes[%d].name", i), words
		}
	}
	return "", ""
}

// names are those of one kind of thing in a pod; each is there once.
type names struct {
	kind string
	seen map[string]bool
}

func (n *names) add(name string) (words string) {
	if !IsLabel(name) {
		return fmt.Sprintf("%s is not a valid %s name: it %s", quoted(name), n.kind, LabelRule)
	}
	if n.seen[name] {
		return fmt.Sprintf("another %s is called %s, too", n.kind, quoted(name))
	}
	if n.seen == nil {
		n.seen = map[string]bool{}
	}
	n.seen[name] = true
	return ""
}

func listOf(of *structpb.Struct, field string) []*structpb.Struct {
	var found []*structpb.Struct
	for _, value := range of.GetFields()[field].GetListValue().GetValues() {
		found = append(found, value.GetStructValue())
	}
	return found
}

func textOf(of *structpb.Struct, field string) string { return of.GetFields()[field].GetStringValue() }
