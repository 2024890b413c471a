package pod

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/flyte-binary/flyte-binary/executor/failure"
	"github.com/flyte-binary/flyte-binary/executor/plugin"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// gpu is the name that tasks use for whatever accelerator they get.
const gpu = corev1.ResourceName("gpu")

// resourcesOf translates what a task asks for. The accelerator keeps the tasks' name.
func resourcesOf(wanted *core.Resources) (corev1.ResourceRequirements, *failure.Failure) {
	requests, bad := resourceList(wanted.GetRequests())
	if bad != nil {
		return corev1.ResourceRequirements{}, bad
	}
	limits, bad := resourceList(wanted.GetLimits())
	return corev1.ResourceRequirements{Requests: requests, Limits: limits}, bad
}

func resourceList(entries []*core.Resources_ResourceEntry) (corev1.ResourceList, *failure.Failure) {
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

// settleResources gives every container of the task's own its resources: the primary one is completed by the defaults, the
// others have what they say. All keep the bounds. It finds the accelerator that the pod runs with on the way.
func (p *Plugin) settleResources(attempt *plugin.Attempt, d *draft) *failure.Failure {
	defaults, bad := p.defaultsOf(attempt)
	if bad != nil {
		return bad
	}
	primary := find(d.spec, PrimaryName(attempt.Template))
	d.accelerator = acceleratorOf(attempt, requests(primary, gpu) || defaults.gives(gpu))
	name := p.acceleratorResource(d.accelerator)
	eachContainer(d.spec, func(container *corev1.Container) {
		container.Resources.Requests = rename(container.Resources.Requests, name)
		container.Resources.Limits = rename(container.Resources.Limits, name)
	})
	defaults.requests, defaults.most = rename(defaults.requests, name), renameBounds(defaults.most, name)
	primary.Resources = defaults.complete(primary.Resources)
	eachContainer(d.spec, func(container *corev1.Container) {
		if bad == nil && slices.Contains(d.own, container.Name) {
			bad = defaults.check(container)
		}
	})
	if bad != nil {
		return bad
	}
	return defaults.checkShared(attempt.Template.GetExtendedResources().GetSharedMemory())
}

// defaults are what holds for tasks that say nothing, and the bounds for all.
type defaults struct {
	requests corev1.ResourceList
	most     map[corev1.ResourceName]bound
	mirror   bool
}

// bound is the most of a resource that a container may have.
type bound struct {
	quantity resource.Quantity
	whose    string // for people
}

// defaultsOf are those of the run, then those of the configuration. Of two bounds the smaller holds.
func (p *Plugin) defaultsOf(attempt *plugin.Attempt) (defaults, *failure.Failure) {
	result := defaults{requests: corev1.ResourceList{}, most: map[corev1.ResourceName]bound{}}
	for name, text := range map[corev1.ResourceName]string{corev1.ResourceCPU: p.config.DefaultCPU, corev1.ResourceMemory: p.config.DefaultMemory} {
		result.requests[name] = resource.MustParse(text) // Validate has parsed it.
	}
	for name, text := range p.config.bounds() {
		if text != "" {
			result.most[name] = bound{resource.MustParse(text), "this installation"}
		}
	}
	given := attempt.Task.Spec.Defaults
	if given == nil {
		return result, nil
	}
	result.mirror = given.MirrorLimits
	for _, name := range slices.Sorted(maps.Keys(given.Requests)) {
		quantity, err := resource.ParseQuantity(given.Requests[name])
		if err != nil {
			return result, failure.New(failure.BadTaskSpecification, "the run's default of %q for %s is no quantity", given.Requests[name], name)
		}
		result.requests[corev1.ResourceName(name)] = quantity
	}
	for _, name := range slices.Sorted(maps.Keys(given.Max)) {
		quantity, err := resource.ParseQuantity(given.Max[name])
		if err != nil {
			return result, failure.New(failure.BadTaskSpecification, "the run's maximum of %q for %s is no quantity", given.Max[name], name)
		}
		if other, set := result.most[corev1.ResourceName(name)]; !set || quantity.Cmp(other.quantity) < 0 {
			result.most[corev1.ResourceName(name)] = bound{quantity, "settings"}
		}
	}
	return result, nil
}

func (d defaults) gives(name corev1.ResourceName) bool {
	quantity, set := d.requests[name]
	return set && !quantity.IsZero()
}

// complete fills in what is missing: a request takes its limit, or the default, which never exceeds a bound; a limit takes
// its request. Kubernetes overcommits no accelerators, so there both are the same anyway.
func (d defaults) complete(given corev1.ResourceRequirements) corev1.ResourceRequirements {
	requests, limits := copyOf(given.Requests), copyOf(given.Limits)
	for name, quantity := range limits {
		if _, set := requests[name]; !set {
			requests[name] = quantity
		}
	}
	for name, quantity := range d.requests {
		if most, bounded := d.most[name]; bounded && quantity.Cmp(most.quantity) > 0 {
			quantity = most.quantity
		}
		if _, set := requests[name]; !set {
			requests[name] = quantity
		}
	}
	for name, quantity := range requests {
		if _, set := limits[name]; !set || d.mirror {
			limits[name] = quantity
		}
	}
	return corev1.ResourceRequirements{Requests: requests, Limits: limits, Claims: given.Claims}
}

// check says which resource of a container is above its bound. It is the task's to say less: what runs with less than it
// asked for fails later, and nobody knows why.
func (d defaults) check(container *corev1.Container) *failure.Failure {
	for _, name := range slices.Sorted(maps.Keys(d.most)) {
		most := d.most[name]
		for _, list := range []corev1.ResourceList{container.Resources.Requests, container.Resources.Limits} {
			if wanted, set := list[name]; set && wanted.Cmp(most.quantity) > 0 {
				return failure.New(failure.BadTaskSpecification, "container %q asks for %s %s, and the maximum by %s is %s",
					container.Name, wanted.String(), name, most.whose, most.quantity.String())
			}
		}
	}
	return nil
}

// checkShared keeps shared memory within the bound of memory, as which it counts.
func (d defaults) checkShared(wanted *core.SharedMemory) *failure.Failure {
	if wanted.GetSizeLimit() == "" {
		return nil
	}
	size, err := resource.ParseQuantity(wanted.GetSizeLimit())
	if err != nil || size.Sign() <= 0 {
		return failure.New(failure.BadTaskSpecification, "shared memory of %q is no amount of memory", wanted.GetSizeLimit())
	}
	if most, bounded := d.most[corev1.ResourceMemory]; bounded && size.Cmp(most.quantity) > 0 {
		return failure.New(failure.BadTaskSpecification, "the task asks for %s shared memory, and the maximum of memory by %s is %s",
			size.String(), most.whose, most.quantity.String())
	}
	return nil
}

// requests says whether a container asks for any of a resource, by the tasks' name for it.
func requests(container *corev1.Container, name corev1.ResourceName) bool {
	for _, list := range []corev1.ResourceList{container.Resources.Requests, container.Resources.Limits} {
		for given, quantity := range list {
			if strings.EqualFold(string(given), string(name)) && !quantity.IsZero() {
				return true
			}
		}
	}
	return false
}

// rename gives the accelerator its name in the cluster. Pods that the SDK writes use the tasks' name too.
func rename(list corev1.ResourceList, accelerator corev1.ResourceName) corev1.ResourceList {
	if list == nil {
		return nil
	}
	result := corev1.ResourceList{}
	for name, quantity := range list {
		if strings.EqualFold(string(name), string(gpu)) {
			name = accelerator
		}
		result[name] = quantity
	}
	return result
}

func renameBounds(bounds map[corev1.ResourceName]bound, accelerator corev1.ResourceName) map[corev1.ResourceName]bound {
	if most, set := bounds[gpu]; set {
		delete(bounds, gpu)
		bounds[accelerator] = most
	}
	return bounds
}

func copyOf(list corev1.ResourceList) corev1.ResourceList {
	if list == nil {
		return corev1.ResourceList{}
	}
	return maps.Clone(list)
}
