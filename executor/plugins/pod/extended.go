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

// place says where the pod may run: on nodes with its accelerator, on preemptible ones.
func (p *Plugin) place(attempt *plugin.Attempt, accelerator *core.GPUAccelerator, spec *corev1.PodSpec) {
	p.placeAccelerator(accelerator, spec)
	for _, name := range extendedResources(spec) {
		// Nodes with devices are commonly tainted with their resource's name.
		tolerate(spec, corev1.Toleration{Key: string(name), Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule})
	}
	if p.interruptible(attempt) {
		for name, value := range p.config.InterruptibleNodeSelector {
			requireLabel(spec, name, value)
		}
		tolerate(spec, p.config.InterruptibleTolerations...)
	}
}

// interruptible is what the run says, else what the task says; until the system has lost so many attempts that the rest had
// better be steady.
func (p *Plugin) interruptible(attempt *plugin.Attempt) bool {
	if limit := p.config.InterruptibleFailures; limit > 0 && attempt.SystemFailures >= limit {
		return false
	}
	if wanted := attempt.Task.Spec.Interruptible; wanted != nil {
		return *wanted
	}
	return attempt.Template.GetMetadata().GetInterruptible()
}

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

// isDevice tells extended resources, which have a domain, from those that every node has.
func isDevice(name corev1.ResourceName) bool {
	domain, _, found := strings.Cut(string(name), "/")
	return found && domain != "kubernetes.io" && !strings.HasSuffix(domain, ".kubernetes.io")
}

// extendedResources are those that any container requests, sorted.
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
func shareMemory(wanted *core.SharedMemory, spec *corev1.PodSpec, primary *corev1.Container) *failure.Failure {
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
			return failure.New(failure.BadTaskSpecification, "shared memory of %q is no quantity", text)
		}
		source.SizeLimit = &limit
	}
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: source}})
	primary.VolumeMounts = append(primary.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: path})
	return nil
}
