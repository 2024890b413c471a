package pod

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/flyte-binary/flyte-binary/executor/plugin"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// Accelerator says what a cluster knows of one accelerator.
type Accelerator struct {
	// Device is its name in tasks, such as nvidia-l4; upper and lower case are the same.
	Device string `mapstructure:"device"`
	// Resource is what its devices are counted as; empty means what its class says.
	Resource string `mapstructure:"resource"`
	// NodeLabels, as key=value, are on the nodes that have it; empty means acceleratorNodeLabel with the device's name.
	NodeLabels []string `mapstructure:"nodeLabels"`
	// Tolerations are for taints of these nodes beyond the one that is named like the resource.
	Tolerations []corev1.Toleration `mapstructure:"tolerations"`
	// PartitionNodeLabel is the node label whose value is the partition size; empty means the general one.
	PartitionNodeLabel string `mapstructure:"partitionNodeLabel"`
}

// validate names the first field that is wrong.
func (a Accelerator) validate() error {
	if a.Device == "" {
		return errors.New("device: is needed")
	}
	if a.Resource != "" && (len(validation.IsQualifiedName(a.Resource)) > 0 || !isDevice(corev1.ResourceName(a.Resource))) {
		return fmt.Errorf("resource: %q is no name of an extended resource such as nvidia.com/gpu", a.Resource)
	}
	for _, pair := range a.NodeLabels {
		name, value, found := cutEnv(pair)
		if !found || len(validation.IsQualifiedName(name)) > 0 || len(validation.IsValidLabelValue(value)) > 0 {
			return fmt.Errorf("nodeLabels: %q is not key=value", pair)
		}
	}
	if a.PartitionNodeLabel != "" && len(validation.IsQualifiedName(a.PartitionNodeLabel)) > 0 {
		return fmt.Errorf("partitionNodeLabel: %q is no key of a label", a.PartitionNodeLabel)
	}
	return nil
}

// acceleratorOf is the accelerator that the task names, else that of the run for tasks that request devices.
func acceleratorOf(attempt *plugin.Attempt, requested bool) *core.GPUAccelerator {
	own := attempt.Template.GetExtendedResources().GetGpuAccelerator()
	if deviceOf(own) != "" || !requested || attempt.Task.Spec.Defaults == nil || len(attempt.Task.Spec.Defaults.Accelerator) == 0 {
		return own
	}
	given := &core.GPUAccelerator{}
	if err := proto.Unmarshal(attempt.Task.Spec.Defaults.Accelerator, given); err != nil {
		return own // It was encoded by us, so this is never seen.
	}
	return given
}

// deviceOf is the name of an accelerator: its device, else the canonical name of its model.
func deviceOf(given *core.GPUAccelerator) string {
	if given.GetDevice() != "" {
		return given.GetDevice()
	}
	value := core.AcceleratorModel(0).Descriptor().Values().ByNumber(given.GetAcceleratorModel().Number())
	if value == nil || !proto.HasExtension(value.Options(), core.E_AcceleratorName) {
		return ""
	}
	name, _ := proto.GetExtension(value.Options(), core.E_AcceleratorName).(string)
	return name
}

// known is what the configuration says of an accelerator; the zero value when it says nothing.
func (p *Plugin) known(accelerator *core.GPUAccelerator) Accelerator {
	device := deviceOf(accelerator)
	for _, one := range p.config.Accelerators {
		if device != "" && strings.EqualFold(one.Device, device) {
			return one
		}
	}
	return Accelerator{}
}

// acceleratorResource is the resource that devices of an accelerator are counted as.
func (p *Plugin) acceleratorResource(accelerator *core.GPUAccelerator) corev1.ResourceName {
	if own := p.known(accelerator).Resource; own != "" {
		return corev1.ResourceName(own)
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
		return corev1.ResourceName(p.config.GPUResource)
	}
}

// placeAccelerator has the pod run on nodes with its accelerator.
func (p *Plugin) placeAccelerator(accelerator *core.GPUAccelerator, spec *corev1.PodSpec) {
	device := deviceOf(accelerator)
	if device == "" {
		return
	}
	known := p.known(accelerator)
	for _, pair := range known.NodeLabels {
		name, value, _ := cutEnv(pair)
		requireLabel(spec, name, value)
	}
	if len(known.NodeLabels) == 0 {
		requireLabel(spec, p.config.AcceleratorNodeLabel, device)
	}
	partition := known.PartitionNodeLabel
	if partition == "" {
		partition = p.config.PartitionNodeLabel
	}
	if size := accelerator.GetPartitionSize(); size != "" {
		requireLabel(spec, partition, size)
	} else if accelerator.GetUnpartitioned() && partition != "" {
		requireAffinity(spec, corev1.NodeSelectorRequirement{Key: partition, Operator: corev1.NodeSelectorOpDoesNotExist})
	}
	tolerate(spec, known.Tolerations...)
}

// requireAffinity adds a requirement to every alternative that the pod has.
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

// tolerate adds what the pod does not tolerate yet.
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
