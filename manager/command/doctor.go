package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

func doctor(machine Machine) *cobra.Command {
	from := &source{}
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Check database, API server and storage, and suggest fixes",
		Long: `Checks everything that serve with the same configuration depends on: the database and its schema, the API server and the
TaskAction definition, the rights of its account, the types of plugins, the object store by writing and reading an object, and what apps need.
For a controller it checks the address of the API, the credential, both versions and both clocks. It changes nothing.` +
			readMore("docs/troubleshooting.md"),
		Example: `  flyte-binary doctor --config flyte.yaml
  flyte-binary doctor --config east.yaml --target controller`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			quiet()
			config, err := configuration.Load(from.path, from.set)
			if err != nil {
				return err
			}
			findings := append(manager.Examine(command.Context(), config, nil), manager.ExamineVersion(command.Context(), config, Version)...)
			if machine != nil {
				findings = append(findings, machine(command.Context())...)
			}
			return report(command, findings)
		},
	}
	from.flags(command)
	from.target(command)
	from.cluster(command)
	return command
}

// unhealthyError says that doctor found problems, which it has printed.
type unhealthyError struct{ problems int }

// Error implements error.
func (e *unhealthyError) Error() string {
	if e.problems == 1 {
		return "1 problem found"
	}
	return fmt.Sprintf("%d problems found", e.problems)
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
	if problems > 0 {
		return &unhealthyError{problems}
	}
	return nil
}
