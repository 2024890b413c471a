package demo

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/flyte-binary/flyte-binary/demo/node"
)

// nodeAddress is where the node serves logs to the API server.
const nodeAddress = "127.0.0.1"

// ownImage is the image name that maps to this binary, like a release image in a cluster. Co-pilots of raw containers use it.
const ownImage = "flyte-binary"

// certificates is the directory of the certificates with which the node and the API server authenticate each other.
func (d *demo) certificates() string { return filepath.Join(d.dir.Node(), "pki") }

func (d *demo) startNode(ctx context.Context) error {
	cfg := node.DefaultConfig()
	cfg.DataDir, cfg.Address, cfg.Certificates = d.dir.Node(), nodeAddress, d.certificates()
	cfg.Environment, cfg.OwnImage = d.opts.Python, ownImage
	if d.opts.CPUs > 0 {
		cfg.CPUs = d.opts.CPUs
	}
	cfg.Images = d.opts.images
	made, err := node.New(cfg, d.cluster.RESTConfig(), d.log, d.clock)
	if err != nil {
		return err
	}
	d.node = made
	return d.screen.Step("node", fmt.Sprintf("%g CPUs, tasks in %s", cfg.CPUs, d.opts.Python), func() error { return made.Start(ctx) })
}
