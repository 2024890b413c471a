package podspec

import (
	"strings"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/internal/names/accelerator"
)

// Accelerator describes how a cluster offers one accelerator.
type Accelerator struct {
	// Device is its name in tasks, such as nvidia-l4, in any case. Required.
	Device string `config:"device"`
	// Resource is the extended resource of its devices; empty means that of its class.
	Resource string `config:"resource"`
	// NodeLabels, as key=value, are on the nodes that have it; empty means acceleratorNodeLabel with the device's name.
	NodeLabels []string `config:"nodeLabels"`
	// Tolerations are for taints of these nodes in addition to the one named after the resource.
	Tolerations []corev1.Toleration `config:"tolerations"`
	// PartitionNodeLabel is the node label whose value is the partition size; empty means the general one.
	PartitionNodeLabel string `config:"partitionNodeLabel"`
}

// validate lists the fields that are wrong.
func (a Accelerator) validate() error {
	var found invalid.Fields
	found.If(a.Device == "", "device: is required")
	found.If(a.Resource != "" && (len(validation.IsQualifiedName(a.Resource)) > 0 || !isDevice(corev1.ResourceName(a.Resource))),
		"resource: %q is not an extended resource such as nvidia.com/gpu", a.Resource)
	for i, pair := range a.NodeLabels {
		name, value, complete := cutEnv(pair)
		found.If(!complete || len(validation.IsQualifiedName(name)) > 0 || len(validation.IsValidLabelValue(value)) > 0,
			"nodeLabels[%d]: %q is not key=value", i, pair)
	}
	found.If(a.PartitionNodeLabel != "" && len(validation.IsQualifiedName(a.PartitionNodeLabel)) > 0,
		"partitionNodeLabel: %q is not a label key", a.PartitionNodeLabel)
	return found.Err()
}

// acceleratorOf returns the accelerator that the task names, else, for tasks that request devices, that of the run.
func acceleratorOf(subject *Subject, requested bool) *core.GPUAccelerator {
	own := subject.Declared.GetExtendedResources().GetGpuAccelerator()
	if accelerator.Name(own) != "" || !requested || subject.Defaults == nil || len(subject.Defaults.Accelerator) == 0 {
		return own
	}
	given := &core.GPUAccelerator{}
	if err := proto.Unmarshal(subject.Defaults.Accelerator, given); err != nil {
		return own // This server encoded it, so this cannot happen.
	}
	return given
}

// known returns the configuration of an accelerator; the zero value when there is none.
func (b *Builder) known(given *core.GPUAccelerator) Accelerator { return b.config.known(given) }

func (c Config) known(given *core.GPUAccelerator) Accelerator {
	device := accelerator.Name(given)
	for _, one := range c.Accelerators {
		if device != "" && strings.EqualFold(one.Device, device) {
			return one
		}
	}
	return Accelerator{}
}

// acceleratorResource returns the extended resource of an accelerator's devices.
func (b *Builder) acceleratorResource(accelerator *core.GPUAccelerator) corev1.ResourceName {
	return corev1.ResourceName(DeviceOf(b.config, accelerator))
}

// DeviceOf returns the extended resource that a task's resource "gpu" means, for an accelerator or none.
func DeviceOf(c Config, accelerator *core.GPUAccelerator) string {
	if own := c.known(accelerator).Resource; own != "" {
		return own
	}
	switch accelerator.GetDeviceClass() {
	case core.GPUAccelerator_GOOGLE_TPU:
		return "google.com/tpu"
	case core.GPUAccelerator_AMAZON_NEURON:
		return "aws.amazon.com/neuron"
	case core.GPUAccelerator_AMD_GPU:
		return "amd.com/gpu"
	case core.GPUAccelerator_HABANA_GAUDI:
		return "habana.ai/gaudi"
	default:
		return c.GPUResource
	}
}

// placeAccelerator requires nodes that have the accelerator.
func (b *Builder) placeAccelerator(given *core.GPUAccelerator, spec *corev1.PodSpec) {
	device := accelerator.Name(given)
	if device == "" {
		return
	}
	known := b.known(given)
	for _, pair := range known.NodeLabels {
		name, value, _ := cutEnv(pair)
		requireLabel(spec, name, value)
	}
	if len(known.NodeLabels) == 0 {
		requireLabel(spec, b.config.AcceleratorNodeLabel, device)
	}
	partition := known.PartitionNodeLabel
	if partition == "" {
		partition = b.config.PartitionNodeLabel
	}
	if size := given.GetPartitionSize(); size != "" {
		requireLabel(spec, partition, size)
	} else if given.GetUnpartitioned() && partition != "" {
		requireAffinity(spec, corev1.NodeSelectorRequirement{Key: partition, Operator: corev1.NodeSelectorOpDoesNotExist})
	}
	tolerate(spec, known.Tolerations...)
}

// requireAffinity adds a requirement to every alternative of the pod's node affinity.
func requireAffinity(spec *corev1.PodSpec, requirement corev1.NodeSelectorRequirement) {
	if spec.Affinity == nil {
		spec.Affinity = &corev1.Affinity{}
	}
	if spec.Affinity.NodeAffinity == nil {
		spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	affinity := spec.Affinity.NodeAffinity
	if affinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		affinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}}}
	}
	terms := affinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	for i := range terms {
		terms[i].MatchExpressions = append(terms[i].MatchExpressions, requirement)
	}
}

// tolerate adds the tolerations that the pod does not have yet.
func tolerate(spec *corev1.PodSpec, more ...corev1.Toleration) {
	for _, one := range more {
		if !tolerates(spec, one) {
			spec.Tolerations = append(spec.Tolerations, one)
		}
	}
}

func tolerates(spec *corev1.PodSpec, wanted corev1.Toleration) bool {
	for i := range spec.Tolerations {
		if spec.Tolerations[i].MatchToleration(&wanted) {
			return true
		}
	}
	return false
}
