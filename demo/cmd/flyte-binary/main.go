// Command flyte-binary is the whole product with the demo mode.
package main

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flyte-binary/flyte-binary/demo/kube/embedded"
)

func main() {
	// Kubernetes registers a --version of its own with the flags of the process; they are not ours.
	pflag.CommandLine = pflag.NewFlagSet("flyte-binary", pflag.ExitOnError)
	root := &cobra.Command{Use: "flyte-binary"}
	root.AddCommand(embedded.Command())
	if root.Execute() != nil {
		os.Exit(1)
	}
}
