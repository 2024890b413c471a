package command

import (
	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/flyte-binary/flyte-binary/manager"
)

func config() *cobra.Command {
	command := &cobra.Command{Use: "config", Short: "Show the configuration"}
	from := &source{}
	show := &cobra.Command{
		Use:   "show",
		Short: "Print the effective configuration, including defaults; secrets are hidden",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			loaded, err := manager.Read(from.path, from.set)
			if err != nil {
				return err
			}
			text, err := yaml.Marshal(manager.Redacted(loaded))
			if err != nil {
				return err
			}
			_, err = command.OutOrStdout().Write(text)
			return err
		},
	}
	from.flags(show)
	command.AddCommand(show)
	return command
}
