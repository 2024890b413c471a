package podspec

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// place restricts the nodes of the pod to those with its accelerator and, for interruptible tasks, to preemptible ones.
func (b *Builder) place(subject *Subject, accelerator *core.GPUAccelerator, spec *corev1.PodSpec) {
	b.placeAccelerator(accelerator, spec)
	for _, name := range extendedResources(spec) {
		// Nodes with devices are commonly tainted with the name of their resource.
		tolerate(spec, corev1.Toleration{Key: string(name), Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule})
	}
	if subject.Interruptible {
		for name, value := range b.config.InterruptibleNodeSelector {
			requireLabel(spec, name, value)
		}
		tolerate(spec, b.config.InterruptibleTolerations...)
	}
}

// interruptible returns the choice of the run, else that of the task; false once the system has lost
// InterruptibleFailures attempts.
func (b *Builder) interruptible(attempt *plugin.Attempt) bool {
	if limit := b.config.InterruptibleFailures; limit > 0 && attempt.SystemFailures >= limit {
		return false
	}
	if wanted := attempt.Task.Spec.Interruptible; wanted != nil {
		return *wanted
	}
	return attempt.Template.GetMetadata().GetInterruptible()
}

// requireLabel adds a node label unless the pod requires another value already.
func requireLabel(spec *corev1.PodSpec, name, value string) {
	if name == "" {
		return
	}
	if spec.NodeSelector == nil {
		spec.NodeSelector = map[string]string{}
	}
	if _, set := spec.NodeSelector[name]; !set {
		spec.NodeSelector[name] = value
	}
}

// isDevice reports whether a resource is an extended one: it has a domain that is not Kubernetes' own.
func isDevice(name corev1.ResourceName) bool {
	domain, _, found := strings.Cut(string(name), "/")
	return found && domain != "kubernetes.io" && !strings.HasSuffix(domain, ".kubernetes.io")
}

// extendedResources returns those that any container requests, sorted.
func extendedResources(spec *corev1.PodSpec) []corev1.ResourceName {
	found := map[corev1.ResourceName]bool{}
	eachContainer(spec, func(container *corev1.Container) {
		for name, quantity := range container.Resources.Requests {
			if isDevice(name) && !quantity.IsZero() {
				found[name] = true
			}
		}
	})
	return slices.Sorted(maps.Keys(found))
}

// shareMemory mounts a memory file system into the primary container.
func shareMemory(wanted *core.SharedMemory, spec *corev1.PodSpec, primary *corev1.Container) error {
	if wanted == nil {
		return nil
	}
	name, path := wanted.GetMountName(), wanted.GetMountPath()
	if name == "" {
		name = "flyte-shared-memory"
	}
	if path == "" {
		path = "/dev/shm"
	}
	source := &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}
	if text := wanted.GetSizeLimit(); text != "" {
		limit, err := resource.ParseQuantity(text)
		if err != nil {
			return failure.New(failure.BadTaskSpecification, "shared memory of %q is not a quantity", text)
		}
		source.SizeLimit = &limit
	}
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: source}})
	primary.VolumeMounts = append(primary.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: path})
	return nil
}
