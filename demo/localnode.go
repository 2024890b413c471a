package demo

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/flyte-binary/flyte-binary/demo/environments"
	"github.com/flyte-binary/flyte-binary/demo/node"
	"github.com/flyte-binary/flyte-binary/demo/node/devices"
	"github.com/flyte-binary/flyte-binary/demo/node/shim"
	"github.com/flyte-binary/flyte-binary/demo/pyenv"
)

// nodeAddress is where the node serves logs to the API server.
const nodeAddress = "127.0.0.1"

// ownImage is the image name that maps to this binary, like a release image in a cluster. Co-pilots of raw containers use it.
const ownImage = "flyte-binary"

// sdkImages are the images that tasks have that name none.
const sdkImages = "ghcr.io/flyteorg/flyte:*"

// certificates is the directory of the certificates with which the node and the API server authenticate each other.
func (d *demo) certificates() string { return filepath.Join(d.dir.Node(), "pki") }

// nodeConfig is the configuration of the node.
func (d *demo) nodeConfig() node.Config {
	cfg := node.DefaultConfig()
	cfg.DataDir, cfg.Address, cfg.Certificates = d.dir.Node(), nodeAddress, d.certificates()
	cfg.Environment, cfg.OwnImage, cfg.OwnEnv, cfg.Store = d.opts.python.Dir, ownImage, builderEnv, d.dir.Blobs()
	cfg.Endpoint, cfg.GivePorts = d.authority(), d.givesPorts
	cfg.GiveNames = shim.GivesNames()
	cfg.Warm.Enabled = cfg.Warm.Enabled && d.opts.Warm == warmOn
	if d.opts.CPUs > 0 {
		cfg.CPUs = d.opts.CPUs
	}
	cfg.Devices, cfg.DeviceTools = d.gpus, d.gpuTools
	cfg.AcceleratorLabel, cfg.PartitionLabel = d.config.Executor.Pod.AcceleratorNodeLabel, d.config.Executor.Pod.PartitionNodeLabel
	cfg.PythonPath = filepath.Join(d.dir.Node(), "python")
	// The environment has the SDK, as the SDK's own images do. An entry of the user comes first.
	cfg.Images = append(slices.Clone(d.opts.images), node.Image{Pattern: sdkImages, Environment: d.opts.python.Dir})
	cfg.Made, cfg.Keep.Keep = environments.New(d.dir.Environments(), d.clock), d.opts.Environments
	return cfg
}

func (d *demo) startNode(ctx context.Context) error {
	d.findGPUs(ctx)
	cfg := d.nodeConfig()
	if err := pyenv.WriteLibrary(cfg.PythonPath); err != nil {
		return err
	}
	cluster := d.cluster.RESTConfig()
	cluster.Wrap(d.pace.Wrap)
	made, err := node.New(cfg, cluster, d.log, d.clock)
	if err != nil {
		return err
	}
	d.node = made
	starts := "cold starts"
	if cfg.Warm.Enabled {
		starts = "warm starts"
	}
	gpus := ""
	if len(d.gpus) > 0 {
		gpus = ", " + devices.Inventory(d.gpus)
	}
	return d.screen.Step("node", fmt.Sprintf("%g CPUs%s, %s, tasks in %s (%s)", cfg.CPUs, gpus, starts, d.opts.python.Dir, d.opts.python.Why),
		func() error { return made.Start(ctx) })
}

// announceStarts tells how many processes of tasks have started warm.
func (d *demo) announceStarts() {
	warm, cold := d.node.Starts().Starts()
	all := warm
	for _, number := range cold {
		all += number
	}
	if warm > 0 {
		d.screen.Line("%d of %d tasks' processes started warm.", warm, all)
	}
}
