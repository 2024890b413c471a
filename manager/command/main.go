package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/manager/diagnose"
	"github.com/flyte-binary/flyte-binary/manager/layers"
)

// The exit codes of the program.
const (
	// exitFailed means that the command failed while it ran.
	exitFailed = 1
	// exitUsage means that the command line or the configuration is wrong.
	exitUsage = 2
	// exitDependency means that something that the command depends on does not work.
	exitDependency = 3
)

// UsageError is a command line that a command refuses after it began to run, such as a value of a flag.
type UsageError struct{ Err error }

// Error implements error.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UsageError) Unwrap() error { return e.Err }

// Main runs the command tree, prints an error as one message, and returns the exit code of the process.
func Main(ctx context.Context, root *cobra.Command) int {
	ran := false
	observe(root, &ran)
	executed, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	var wrong *configuration.ConfigError
	var problems layers.Problems
	var broken *diagnose.Failure
	var unhealthy *unhealthyError
	var usage *UsageError
	switch {
	// cobra refused the arguments
	case !ran:
		printError(root.ErrOrStderr(), err.Error(), fmt.Sprintf("run `%s --help`", executed.CommandPath()))
		return exitUsage
	case errors.As(err, &wrong), errors.As(err, &problems):
		printError(root.ErrOrStderr(), err.Error(), "")
		return exitUsage
	case errors.As(err, &broken):
		printError(root.ErrOrStderr(), broken.Part+": "+broken.Problem(), broken.Fix)
		return exitDependency
	case errors.As(err, &usage):
		printError(root.ErrOrStderr(), err.Error(), "")
		return exitUsage
	case errors.As(err, &unhealthy):
		printError(root.ErrOrStderr(), err.Error(), "")
		return exitDependency
	default:
		printError(root.ErrOrStderr(), err.Error(), "")
		return exitFailed
	}
}

func printError(out io.Writer, problem, fix string) {
	fmt.Fprintf(out, "flyte-binary: %s\n", problem)
	if fix != "" {
		fmt.Fprintf(out, "  fix: %s\n", fix)
	}
}

// observe notes when a command begins to run. Errors before that are of the command line.
func observe(command *cobra.Command, ran *bool) {
	if run := command.RunE; run != nil {
		command.RunE = func(command *cobra.Command, args []string) error {
			*ran = true
			return run(command, args)
		}
	}
	for _, below := range command.Commands() {
		observe(below, ran)
	}
}

// flagError says which flag was probably meant.
func flagError(command *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	var names []string
	command.Flags().VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			names = append(names, flag.Name)
		}
	})
	if near := layers.Nearest(strings.TrimLeft(unknown.GetSpecifiedName(), "-"), names); near != "" {
		return fmt.Errorf("%w; did you mean --%s?", err, near)
	}
	for _, key := range configuration.Keys() {
		if strings.HasSuffix(key.Path, "."+unknown.GetSpecifiedName()) && command.Flags().Lookup("set") != nil {
			return fmt.Errorf("%w; did you mean --set %s=…?", err, key.Path)
		}
	}
	return err
}
