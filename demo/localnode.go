package demo

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/flyte-binary/flyte-binary/demo/node"
)

// nodeAddress is where the node serves logs to the API server.
const nodeAddress = "127.0.0.1"

// ownImage stands for this binary, as the image of a release does in a cluster: the co-pilots of raw containers run in it.
const ownImage = "flyte-binary"

// certificates is where the node keeps those by which it and the API server know each other.
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
