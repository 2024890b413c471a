package imagebuild

import (
	"errors"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/flyte-binary/flyte-binary/attempts"
	"github.com/flyte-binary/flyte-binary/demo/environments"
	"github.com/flyte-binary/flyte-binary/demo/pyenv"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// Names of the subcommand, and of the one below it that runs a command behind a fence.
const (
	Name      = "image-build"
	fenceName = "fence"
)

// Command is the subcommand that builds an image; the local node runs it in the pods of builds.
func Command() *cobra.Command {
	var b Build
	var store, output string
	command := &cobra.Command{
		Use: Name, Short: "Make a Python environment for an image; runs as a task of the demo", Hidden: true, Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			b.Store, b.Out, b.SDK = environments.New(store, clock.System{}), command.OutOrStdout(), pyenv.Requirement
			b.Project, b.Domain = os.Getenv("FLYTE_INTERNAL_EXECUTION_PROJECT"), os.Getenv("FLYTE_INTERNAL_EXECUTION_DOMAIN")
			b.Run, b.Environ = os.Getenv("RUN_NAME"), os.Environ()
			b.Runs = workflowconnect.NewRunServiceClient(http.DefaultClient, attempts.URL(os.Getenv(attempts.EndpointVariable), true))
			image, err := b.Make(ctx)
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Clean(output), []byte(image), 0o600)
		},
	}
	flags := command.Flags()
	flags.StringVar(&b.Spec, "spec", "", "path of the description of the image, an ImageSpec")
	flags.StringVar(&b.Context, "context", "", "path of the archive with the client's files; empty for none")
	flags.StringVar(&b.Target, "target", "", "name and tag of the image")
	flags.StringVar(&b.Secrets, "secrets", "", "directory of the secrets of the run")
	flags.StringVar(&b.Blobs, "blobs", "", "directory of the object store")
	flags.StringVar(&store, "environments", "", "directory of environments")
	flags.StringVar(&output, "output", "", "file for the reference of the image")
	command.AddCommand(fenceCommand())
	return command
}

// fenceCommand takes the directories that the command may write to, a --, and the command.
func fenceCommand() *cobra.Command {
	return &cobra.Command{
		Use: fenceName, Short: "Run a command that may write only to some directories", Hidden: true, DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			args = args[1:] // the first --
			at := slices.Index(args, "--")
			if at < 0 {
				return errors.New("no command is given")
			}
			return fence(args[:at], args[at+1:])
		},
	}
}
