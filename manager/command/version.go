package command

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

func version() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Long:    "Prints the version of the program, of Go, and the platform that it was built for." + readMore("docs/upgrading.md"),
		Example: "  flyte-binary version",
		RunE: func(command *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(command.OutOrStdout(), "flyte-binary %s (%s, %s/%s)\n", Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
