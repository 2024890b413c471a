// Package command is the command tree of the binary. It is built on manager; the demo module adds its own command.
package command

import "github.com/spf13/cobra"

// Version is the version of the build, set by the linker.
var Version = "dev"

// New returns the command tree, with more commands added to it.
func New(more ...*cobra.Command) *cobra.Command {
	root := &cobra.Command{
		Use:           "flyte-binary",
		Short:         "A complete Flyte 2 backend in one binary",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(serve(), migrate(), retain(), doctor(), supportBundle(), logLevel(), config(), copilotCommand(), appPort(), version())
	root.AddCommand(more...)
	return root
}

// source holds the flags that say where the configuration comes from.
type source struct {
	path string
	set  []string
}

func (s *source) flags(command *cobra.Command) {
	command.Flags().StringVar(&s.path, "config", "", "configuration file (YAML)")
	command.Flags().StringArrayVar(&s.set, "set", nil, "override a key, for example --set server.listen=127.0.0.1:8090; may be repeated")
}
