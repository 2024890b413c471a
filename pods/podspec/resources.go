package podspec

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// gpu is the name that tasks use for the devices of any accelerator.
const gpu = corev1.ResourceName("gpu")

// resourcesOf translates what a task asks for. The accelerator keeps the tasks' name until it is known.
func resourcesOf(wanted *core.Resources) (corev1.ResourceRequirements, error) {
	requests, err := resourceList(wanted.GetRequests())
	if err != nil {
		return corev1.ResourceRequirements{}, err
	}
	limits, err := resourceList(wanted.GetLimits())
	return corev1.ResourceRequirements{Requests: requests, Limits: limits}, err
}

func resourceList(entries []*core.Resources_ResourceEntry) (corev1.ResourceList, error) {
	result := corev1.ResourceList{}
	for _, entry := range entries {
		name, known := resourceNames()[entry.GetName()]
		if !known || entry.GetValue() == "" {
			continue
		}
		quantity, err := resource.ParseQuantity(entry.GetValue())
		if err != nil {
			return nil, failure.New(failure.BadTaskSpecification, "%s of %q is not a quantity", name, entry.GetValue())
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

// settleResources sets the resources of the task's own containers: defaults complete the primary one, the others stay
// as declared. All must respect the bounds. It also determines the accelerator of the pod.
func (b *Builder) settleResources(subject *Subject, d *draft) error {
	defaults, err := b.defaultsOf(subject)
	if err != nil {
		return err
	}
	primary := find(d.spec, subject.Primary)
	d.accelerator = acceleratorOf(subject, requests(primary, gpu) || defaults.gives(gpu))
	name := b.acceleratorResource(d.accelerator)
	eachContainer(d.spec, func(container *corev1.Container) {
		container.Resources.Requests = rename(container.Resources.Requests, name)
		container.Resources.Limits = rename(container.Resources.Limits, name)
	})
	defaults.requests, defaults.most = rename(defaults.requests, name), renameBounds(defaults.most, name)
	primary.Resources = defaults.complete(primary.Resources)
	eachContainer(d.spec, func(container *corev1.Container) {
		if err == nil && slices.Contains(d.own, container.Name) {
			err = defaults.check(container)
		}
	})
	if err != nil {
		return err
	}
	return defaults.checkShared(subject.Declared.GetExtendedResources().GetSharedMemory())
}

// defaults are the resources of tasks that ask for none, and the bounds of all.
type defaults struct {
	requests corev1.ResourceList
	limits   corev1.ResourceList
	most     map[corev1.ResourceName]bound
	mirror   bool
}

// bound is the maximum of a resource that a container may have.
type bound struct {
	quantity resource.Quantity
	whose    string // for messages
}

// defaultsOf returns those of the run, completed by those of the configuration. The smaller of two bounds applies.
func (b *Builder) defaultsOf(subject *Subject) (defaults, error) {
	result := defaults{requests: corev1.ResourceList{}, limits: corev1.ResourceList{}, most: map[corev1.ResourceName]bound{}}
	for name, text := range map[corev1.ResourceName]string{corev1.ResourceCPU: b.config.DefaultCPU, corev1.ResourceMemory: b.config.DefaultMemory} {
		result.requests[name] = resource.MustParse(text) // Validate has parsed it.
	}
	if b.config.DefaultCPULimit != "" {
		result.limits[corev1.ResourceCPU] = resource.MustParse(b.config.DefaultCPULimit)
	}
	for name, text := range b.config.bounds() {
		if text != "" {
			result.most[name] = bound{resource.MustParse(text), "this installation"}
		}
	}
	given := subject.Defaults
	if given == nil {
		return result, nil
	}
	result.mirror = given.MirrorLimits
	for _, name := range slices.Sorted(maps.Keys(given.Requests)) {
		quantity, err := resource.ParseQuantity(given.Requests[name])
		if err != nil {
			return result, failure.New(failure.BadTaskSpecification, "the run's default of %q for %s is not a quantity", given.Requests[name], name)
		}
		result.requests[corev1.ResourceName(name)] = quantity
	}
	for _, name := range slices.Sorted(maps.Keys(given.Max)) {
		quantity, err := resource.ParseQuantity(given.Max[name])
		if err != nil {
			return result, failure.New(failure.BadTaskSpecification, "the run's maximum of %q for %s is not a quantity", given.Max[name], name)
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

// complete fills in what is missing: a request takes its limit, or the default, lowered to the bound; a limit takes the default
// of a container that names neither, if that is higher, or its request. Kubernetes does not overcommit accelerators, so for them
// both are the same.
func (d defaults) complete(given corev1.ResourceRequirements) corev1.ResourceRequirements {
	requests, limits := copyOf(given.Requests), copyOf(given.Limits)
	for name, quantity := range limits {
		if _, set := requests[name]; !set {
			requests[name] = quantity
		}
	}
	for name, quantity := range d.requests {
		if _, set := requests[name]; set {
			continue
		}
		requests[name] = d.lowered(name, quantity)
		if limit, set := d.limits[name]; set {
			if limit = d.lowered(name, limit); limit.Cmp(requests[name]) > 0 {
				limits[name] = limit
			}
		}
	}
	for name, quantity := range requests {
		if _, set := limits[name]; !set || d.mirror {
			limits[name] = quantity
		}
	}
	return corev1.ResourceRequirements{Requests: requests, Limits: limits, Claims: given.Claims}
}

// lowered is a quantity, or the bound if that is less.
func (d defaults) lowered(name corev1.ResourceName, quantity resource.Quantity) resource.Quantity {
	if most, bounded := d.most[name]; bounded && quantity.Cmp(most.quantity) > 0 {
		return most.quantity
	}
	return quantity
}

// check refuses a container that asks for more than a bound. It is not lowered to the bound: a task that runs with less
// than it asked for fails later, without an explanation.
func (d defaults) check(container *corev1.Container) error {
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

// checkShared applies the bound of memory to shared memory, which counts as memory.
func (d defaults) checkShared(wanted *core.SharedMemory) error {
	if wanted.GetSizeLimit() == "" {
		return nil
	}
	size, err := resource.ParseQuantity(wanted.GetSizeLimit())
	if err != nil || size.Sign() <= 0 {
		return failure.New(failure.BadTaskSpecification, "shared memory of %q is not an amount of memory", wanted.GetSizeLimit())
	}
	if most, bounded := d.most[corev1.ResourceMemory]; bounded && size.Cmp(most.quantity) > 0 {
		return failure.New(failure.BadTaskSpecification, "the task asks for %s shared memory, and the maximum of memory by %s is %s",
			size.String(), most.whose, most.quantity.String())
	}
	return nil
}

// requests reports whether a container asks for any of a resource by the tasks' name for it, in any case.
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

// rename gives the accelerator its name in the cluster. Pod specs that the SDK writes use the tasks' name too.
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
