package devices

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Maker is who made a device.
type Maker string

// The makers whose devices are found.
const (
	NVIDIA Maker = "nvidia"
	AMD    Maker = "amd"
)

// Makers are all of them.
func Makers() []Maker { return []Maker{NVIDIA, AMD} }

// Resource is the extended resource by which pods request devices of a maker.
func (m Maker) Resource() corev1.ResourceName { return corev1.ResourceName(m + ".com/gpu") }

// Variable is the name of the variable that says which devices of a maker a process sees.
func (m Maker) Variable() string {
	if m == AMD {
		return "ROCR_VISIBLE_DEVICES"
	}
	return "CUDA_VISIBLE_DEVICES"
}

// Device is a GPU, or a partition of one.
type Device struct {
	// ID is what the maker's variable names it by, such as GPU-2c1a… or MIG-c738….
	ID    string
	Maker Maker
	// Index is its number in the maker's tool; a partition has that of its GPU.
	Index int
	// Model is its name in the maker's tool, such as NVIDIA H200.
	Model string
	// Partition is the size of a part of a GPU, such as 1g.18gb; empty for a whole one.
	Partition string
	// Bytes is its memory; 0 if that is unknown.
	Bytes int64
}

// String names the device in words.
func (d Device) String() string {
	if d.Partition != "" {
		return d.Model + " " + d.Partition
	}
	return d.Model
}

// Size is the device's memory in words.
func (d Device) Size() string { return gib(d.Bytes) }

func gib(bytes int64) string {
	if bytes <= 0 {
		return "memory unknown"
	}
	return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
}

// Capacity is how many devices there are, by resource.
func Capacity(all []Device) corev1.ResourceList {
	list := corev1.ResourceList{}
	for _, d := range all {
		sum := list[d.Maker.Resource()]
		sum.Add(*resource.NewQuantity(1, resource.DecimalSI))
		list[d.Maker.Resource()] = sum
	}
	return list
}
