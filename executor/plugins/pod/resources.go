package pod

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/flyte-binary/flyte-binary/executor/failure"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// gpu is the name that tasks use for whatever accelerator they get.
const gpu = corev1.ResourceName("gpu")

// resourcesOf translates what a task asks for.
func (p *Plugin) resourcesOf(wanted *core.Resources, accelerator corev1.ResourceName) (corev1.ResourceRequirements, *failure.Failure) {
	requests, bad := p.resourceList(wanted.GetRequests())
	if bad != nil {
		return corev1.ResourceRequirements{}, bad
	}
	limits, bad := p.resourceList(wanted.GetLimits())
	if bad != nil {
		return corev1.ResourceRequirements{}, bad
	}
	return p.complete(corev1.ResourceRequirements{Requests: requests, Limits: limits}, accelerator), nil
}

func (p *Plugin) resourceList(entries []*core.Resources_ResourceEntry) (corev1.ResourceList, *failure.Failure) {
	result := corev1.ResourceList{}
	for _, entry := range entries {
		name, known := resourceNames()[entry.GetName()]
		if !known || entry.GetValue() == "" {
			continue
		}
		quantity, err := resource.ParseQuantity(entry.GetValue())
		if err != nil {
			return nil, failure.New(failure.BadTaskSpecification, "%s of %q is no quantity", name, entry.GetValue())
		}
		result[name] = quantity
	}
	return result, nil
}

func resourceNames() map[core.Resources_ResourceName]corev1.ResourceName {
	return map[core.Resources_ResourceName]corev1.ResourceName{
		core.Resources_CPU:               corev1.ResourceCPU,
		core.Resources_MEMORY:            corev1.ResourceMemory,
		core.Resources_EPHEMERAL_STORAGE: corev1.ResourceEphemeralStorage,
		core.Resources_STORAGE:           corev1.ResourceEphemeralStorage,
		core.Resources_GPU:               gpu,
	}
}

// complete fills in what is missing: a request takes its limit, or the default; a limit takes its request. Kubernetes
// overcommits no accelerators, so there both are the same anyway.
func (p *Plugin) complete(given corev1.ResourceRequirements, accelerator corev1.ResourceName) corev1.ResourceRequirements {
	requests, limits := rename(given.Requests, accelerator), rename(given.Limits, accelerator)
	for name, quantity := range limits {
		if _, set := requests[name]; !set {
			requests[name] = quantity
		}
	}
	for name, text := range map[corev1.ResourceName]string{corev1.ResourceCPU: p.config.DefaultCPU, corev1.ResourceMemory: p.config.DefaultMemory} {
		if _, set := requests[name]; !set {
			requests[name] = resource.MustParse(text) // Validate has parsed it.
		}
	}
	for name, quantity := range requests {
		if _, set := limits[name]; !set {
			limits[name] = quantity
		}
	}
	return corev1.ResourceRequirements{Requests: requests, Limits: limits, Claims: given.Claims}
}

// rename gives the accelerator its name in the cluster. Pods that the SDK writes use the tasks' name too.
func rename(list corev1.ResourceList, accelerator corev1.ResourceName) corev1.ResourceList {
	result := corev1.ResourceList{}
	for name, quantity := range list {
		if strings.EqualFold(string(name), string(gpu)) {
			name = accelerator
		}
		result[name] = quantity
	}
	return result
}
