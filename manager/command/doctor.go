package command

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/flyte-binary/flyte-binary/manager"
)

func doctor() *cobra.Command {
	from := &source{}
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Check database, API server and storage, and suggest fixes",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			config, err := manager.Load(from.path, from.set)
			if err != nil {
				return err
			}
			return report(command, manager.Examine(command.Context(), config, nil))
		},
	}
	from.flags(command)
	return command
}

// report prints each finding, and returns an error if there is a problem.
func report(command *cobra.Command, findings []manager.Finding) error {
	problems := 0
	for _, f := range findings {
		if f.Err == nil {
			command.Printf("ok    %s: %s\n", f.What, f.Detail)
			continue
		}
		problems++
		command.Printf("FAIL  %s: %v\n      fix: %s\n", f.What, f.Err, f.Fix)
	}
	switch problems {
	case 0:
		return nil
	case 1:
		return errors.New("1 problem found")
	default:
		return fmt.Errorf("%d problems found", problems)
	}
}
