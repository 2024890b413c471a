package node_test

import "github.com/flyte-binary/flyte-binary/demo/node"

type (
	nodeConfig = node.Config
	nodeImage  = node.Image
)
