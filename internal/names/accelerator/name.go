// Package accelerator reads the accelerators of the wire contract.
package accelerator

import (
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// Name returns the name of an accelerator: its device, else the canonical name of its model; empty when it has neither.
func Name(given *core.GPUAccelerator) string {
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
