package command

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

func config() *cobra.Command {
	command := &cobra.Command{
		Use: "config", Short: "Check or show the configuration, or print its JSON Schema",
		Long: `Checks or shows the configuration that the other commands would use, from the same file, environment variables and flags. Nothing
is started or connected to.` + readMore("docs/configuration.md"),
		Example: `  flyte-binary config check --config flyte.yaml
  flyte-binary config show --config flyte.yaml
  flyte-binary config schema > flyte.schema.json`,
	}
	command.AddCommand(checkConfig(), showConfig(), schemaOfConfig())
	return command
}

func checkConfig() *cobra.Command {
	from := &source{}
	command := &cobra.Command{
		Use: "check", Short: "Say what is wrong with the configuration, and where",
		Long: `Checks the configuration: file, environment variables and flags together. Every problem is listed with its file and line, the
variable or the flag. The exit code is 2 if there is one.` + readMore("docs/configuration.md"),
		Example: `  flyte-binary config check --config flyte.yaml
  flyte-binary config check --config east.yaml --target controller --set cluster.id=east`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			// Load validates, which is the whole check: nothing is started or connected to.
			if _, err := configuration.Load(from.path, from.set); err != nil {
				return err
			}
			_, err := fmt.Fprintln(command.OutOrStdout(), "the configuration is valid")
			return err
		},
	}
	from.flags(command)
	from.target(command)
	from.cluster(command)
	return command
}

func showConfig() *cobra.Command {
	from, output := &source{}, ""
	command := &cobra.Command{
		Use:   "show",
		Short: "Print the effective configuration and where each value came from; secrets are hidden",
		Long: `Prints every key with its effective value. Values that are not the default have a comment that names their file and line, their
environment variable or their flag. Secrets are hidden.` + readMore("docs/configuration.md"),
		Example: `  flyte-binary config show --config flyte.yaml
  flyte-binary config show --config flyte.yaml --output json`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			// Read does not validate: people look here for the cause of a value that is refused.
			loaded, origins, err := configuration.Read(from.path, from.set)
			if err != nil {
				return err
			}
			switch output {
			case "yaml":
				return writeYAML(command.OutOrStdout(), loaded, origins)
			case "json":
				places := map[string]string{}
				for key, origin := range origins {
					places[key] = origin.String()
				}
				encoder := json.NewEncoder(command.OutOrStdout())
				encoder.SetIndent("", "  ")
				return encoder.Encode(map[string]any{"configuration": configuration.Redacted(loaded), "origins": places})
			default:
				return fmt.Errorf("--output: want yaml or json, got %q", output)
			}
		},
	}
	from.flags(command)
	from.target(command)
	from.cluster(command)
	command.Flags().StringVarP(&output, "output", "o", "yaml", "format: yaml or json")
	complete(command, "output", fixed("yaml", "json"))
	return command
}
