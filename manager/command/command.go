// Package command is the command tree of the binary. It stands above manager; the demo module adds its own command
// to the tree.
package command

import "github.com/spf13/cobra"

// Version is the version of the build, set by the linker.
var Version = "dev"

// New makes the tree, with more commands beside ours.
func New(more ...*cobra.Command) *cobra.Command {
	root := &cobra.Command{
		Use:           "flyte-binary",
		Short:         "A complete Flyte 2 backend in one binary",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(serve(), migrate(), retain(), doctor(), config(), copilotCommand(), version())
	root.AddCommand(more...)
	return root
}

// source is where a command finds the configuration.
type source struct {
	path string
	set  []string
}

func (s *source) flags(command *cobra.Command) {
	command.Flags().StringVar(&s.path, "config", "", "configuration file (YAML)")
	command.Flags().StringArrayVar(&s.set, "set", nil, "override a key, as in --set server.listen=127.0.0.1:8090")
}
