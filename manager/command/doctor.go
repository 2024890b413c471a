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
		Short: "Examine database, API server and storage, and say what is wrong and how to mend it",
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

// report prints a line for each finding, and fails when one is bad.
func report(command *cobra.Command, findings []manager.Finding) error {
	sick := 0
	for _, f := range findings {
		if f.Err == nil {
			command.Printf("ok    %s: %s\n", f.What, f.Detail)
			continue
		}
		sick++
		command.Printf("FAIL  %s: %v\n      mend: %s\n", f.What, f.Err, f.Mend)
	}
	switch sick {
	case 0:
		return nil
	case 1:
		return errors.New("one thing is wrong")
	default:
		return fmt.Errorf("%d things are wrong", sick)
	}
}
