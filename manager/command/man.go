package command

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// man writes the manual pages. It is for those who package the program.
func man() *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write the manual pages of all commands into a directory", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil { //nolint:gosec // pages for everyone
				return fmt.Errorf("create the directory: %w", err)
			}
			root := command.Root()
			root.DisableAutoGenTag = true // the same pages in every build
			return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "flyte-binary " + Version, Manual: "flyte-binary"}, args[0])
		},
	}
}
