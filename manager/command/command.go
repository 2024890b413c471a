// Package command is the command tree of the binary. It is built on manager; the demo module adds its own command.
package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/flyte-binary/flyte-binary/manager"
)

// Version is the version of the build, set by the linker.
var Version = "dev"

// Machine examines the machine on which doctor runs, in addition to what the configuration names.
type Machine func(context.Context) []manager.Finding

// New returns the command tree, with more commands added to it.
func New(more ...*cobra.Command) *cobra.Command { return NewOn(nil, more...) }

// NewOn is New with a doctor that also examines the machine; nil for not.
func NewOn(machine Machine, more ...*cobra.Command) *cobra.Command {
	root := &cobra.Command{
		Use:   "flyte-binary",
		Short: "A complete Flyte 2 backend in one binary",
		Long: `A complete Flyte 2 backend in one binary: the API, the console, and the controller that runs tasks on Kubernetes.

Exit codes: 0 for success; 1 if the command failed while it ran; 2 if the command line or the configuration is wrong; 3 if
something that the command depends on does not work, such as the database or the port.` + readMore("README.md"),
		Example: `  flyte-binary demo                            # a whole backend on this machine
  flyte-binary doctor --config flyte.yaml      # what an installation lacks
  flyte-binary serve --config flyte.yaml       # an installation`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(serve(), migrate(), retain(), keysCommand(), clustersCommand(), accessCommand(), auditCommand(), doctor(machine), supportBundle(), logLevel(), config(), copilotCommand(), workerCommand(), appPort(), completion(), man(), version())
	root.AddCommand(more...)
	if len(more) == 0 { // the program without the demo mode
		root.Example = root.Example[len("  flyte-binary demo                            # a whole backend on this machine\n"):]
	}
	return root
}

// readMore is the last paragraph of a command's help: where to read on.
func readMore(page string) string { return "\n\nRead more in " + page + "." }
