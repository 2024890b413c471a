package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/flyte-binary/flyte-binary/demo/datadir"
	"github.com/flyte-binary/flyte-binary/demo/node"
	"github.com/flyte-binary/flyte-binary/demo/node/devices"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/manager"
)

// The values of Options.GPUs besides the path of a file.
const (
	gpusAuto = "auto"
	gpusOff  = "off"
)

// findGPUs finds the GPUs that tasks may request. A tool that fails costs the demo no more than the GPUs.
func (d *demo) findGPUs(ctx context.Context) {
	switch d.opts.GPUs {
	case gpusOff:
		return
	case gpusAuto:
		found, err := devices.Find(ctx, devices.Tools)
		if err != nil {
			d.log.Warn().Err(err).Msg("a tool for GPUs fails, so tasks cannot request those that it would have found")
			d.screen.Line("  GPUs that cannot be used: %v", err)
		}
		d.gpus, d.gpuTools = devices.Visible(found, os.LookupEnv), devices.Tools
	default:
		d.gpus = d.opts.gpus
	}
	// gpu=1 in a task means the devices that there are.
	if pod, table := &d.config.Executor.Pod, devices.NewTable(d.gpus); table.Has(devices.AMD) && !table.Has(devices.NVIDIA) {
		if pod.GPUResource == string(devices.NVIDIA.Resource()) {
			pod.GPUResource = string(devices.AMD.Resource())
		}
	}
}

// gpuParts describes the GPUs on the page of the system: who has which, and how busy they are.
func (d *demo) gpuParts(ctx context.Context) []*insightv1.Component {
	states := d.node.Devices(ctx)
	parts := make([]*insightv1.Component, 0, len(states))
	for _, state := range states {
		parts = append(parts, &insightv1.Component{Name: fmt.Sprintf("gpu %d: %s", state.Index, state.Device), Healthy: true, Message: gpuWords(state) + ", " + state.ID})
	}
	return parts
}

func gpuWords(state node.DeviceState) string {
	if state.Holder == "" {
		return "free, " + state.Busy
	}
	return state.Holder + " has it, " + state.Busy
}

// Examine is what doctor finds out about this machine: its GPUs, and which tasks of the demo in the default directory have them.
func Examine(ctx context.Context) []manager.Finding {
	found, err := devices.Find(ctx, devices.Tools)
	var findings []manager.Finding
	if err != nil {
		// Servers whose tasks run elsewhere do not care.
		findings = append(findings, manager.Finding{What: "GPUs of this machine", Detail: fmt.Sprintf("some cannot be used: %v", err)})
	}
	nodeDir := ""
	if root, err := datadir.Default(); err == nil {
		nodeDir = filepath.Join(root, "node")
	}
	for _, state := range node.DevicesOf(ctx, nodeDir, found, devices.Tools) {
		findings = append(findings, manager.Finding{What: fmt.Sprintf("GPU %d of this machine", state.Index), Detail: fmt.Sprintf("%s, %s, %s", state.Device, gpuWords(state), state.ID)})
	}
	return findings
}
