package command

import (
	_ "embed"

	"github.com/spf13/cobra"
)

// schema is written by manager/cmd/configdoc from the configuration structs and their comments.
//
//go:embed configuration.schema.json
var schema []byte

func schemaOfConfig() *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of the configuration file",
		Long: `Prints a JSON Schema (draft 2020-12) of the configuration file, with which editors complete, explain and check keys. Editors with
the YAML language server use it if the first line of the file names it:

  # yaml-language-server: $schema=flyte.schema.json` + readMore("docs/configuration.md"),
		Example: "  flyte-binary config schema > flyte.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			_, err := command.OutOrStdout().Write(schema)
			return err
		},
	}
}
