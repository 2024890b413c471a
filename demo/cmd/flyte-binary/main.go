// Command flyte-binary is the product with the demo mode, the program for download.
package main

import (
	"context"
	"os"

	"github.com/spf13/pflag"

	"github.com/flyte-binary/flyte-binary/demo"
	"github.com/flyte-binary/flyte-binary/demo/imagebuild"
	"github.com/flyte-binary/flyte-binary/demo/kube/embedded"
	_ "github.com/flyte-binary/flyte-binary/demo/node/shim/early" // runs containers; must come before everything else
	"github.com/flyte-binary/flyte-binary/demo/node/standalone"
	"github.com/flyte-binary/flyte-binary/manager/command"
)

func main() {
	// Kubernetes registers a --version flag with the process-wide flags; leave it out.
	pflag.CommandLine = pflag.NewFlagSet("flyte-binary", pflag.ExitOnError)
	os.Exit(command.Main(context.Background(), command.NewOn(demo.Examine,
		demo.Command(), embedded.Command(), embedded.ControllersCommand(), standalone.Command(), imagebuild.Command(),
	)))
}
