package pod

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/flyte-binary/flyte-binary/executor/failure"
	"github.com/flyte-binary/flyte-binary/executor/plugin"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// acceleratorResource is the resource that devices of the task's accelerator are counted as.
func (p *Plugin) acceleratorResource(extended *core.ExtendedResources) corev1.ResourceName {
	switch extended.GetGpuAccelerator().GetDeviceClass() {
	case core.GPUAccelerator_GOOGLE_TPU:
		return "google.com/tpu"
	case core.GPUAccelerator_AMAZON_NEURON:
		return "aws.amazon.com/neuron"
	case core.GPUAccelerator_AMD_GPU:
		return "amd.com/gpu"
	case core.GPUAccelerator_HABANA_GAUDI:
		return "habana.ai/gaudi"
	default:
		return corev1.ResourceName(p.config.GPUResource)
	}
}

// place says where the pod may run: on nodes with its accelerator, on preemptible ones.
func (p *Plugin) place(attempt *plugin.Attempt, spec *corev1.PodSpec) {
	if accelerator := attempt.Template.GetExtendedResources().GetGpuAccelerator(); accelerator.GetDevice() != "" {
		requireLabel(spec, p.config.AcceleratorNodeLabel, accelerator.GetDevice())
		if size := accelerator.GetPartitionSize(); size != "" {
			requireLabel(spec, p.config.PartitionNodeLabel, size)
		}
	}
	if resourceName := p.acceleratorResource(attempt.Template.GetExtendedResources()); uses(spec, resourceName) {
		// Nodes with accelerators are commonly tainted with their resource's name.
		spec.Tolerations = append(spec.Tolerations, corev1.Toleration{
			Key: string(resourceName), Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule,
		})
	}
	if interruptible(attempt) {
		for name, value := range p.config.InterruptibleNodeSelector {
			requireLabel(spec, name, value)
		}
		spec.Tolerations = append(spec.Tolerations, p.config.InterruptibleTolerations...)
	}
}

// interruptible is what the run says, else what the task says.
func interruptible(attempt *plugin.Attempt) bool {
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

func uses(spec *corev1.PodSpec, name corev1.ResourceName) bool {
	for _, container := range spec.Containers {
		if quantity, set := container.Resources.Requests[name]; set && !quantity.IsZero() {
			return true
		}
	}
	return false
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
