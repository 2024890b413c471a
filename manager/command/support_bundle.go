package command

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager/bundle"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

func supportBundle() *cobra.Command {
	from, output, options := &source{}, "", bundle.Options{Version: Version, Clock: clock.System{}}
	command := &cobra.Command{
		Use:   "support-bundle",
		Short: "Collect the state of an installation for support, without secrets",
		Long: `Writes an archive with the version, the effective configuration, the answers of doctor, health, metrics, the data of the
System page, queues, migrations, sizes of tables, leases, and profiles if telemetry.debugListen serves them. Secrets are
masked. Parts that are down are left out; each has a file with its error.` + readMore("docs/operations.md"),
		Example: `  flyte-binary support-bundle --config flyte.yaml
  flyte-binary support-bundle --config flyte.yaml --log /var/log/flyte.log --output flyte.tar.gz
  kubectl logs deploy/flyte-binary > server.log
  flyte-binary support-bundle --config flyte.yaml --url https://flyte.example --log server.log`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) (failure error) {
			quiet()
			config, _, err := configuration.Read(from.path, from.set)
			if err != nil {
				return err
			}
			if output == "" {
				output = "flyte-support-" + options.Clock.Now().UTC().Format("20060102T150405Z") + ".tar.gz"
			}
			// An archive is never overwritten, and only its owner may read it.
			file, err := os.OpenFile(output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				return fmt.Errorf("--output: %w", err)
			}
			// Half an archive is worse than none.
			defer func() {
				if failure = errors.Join(failure, file.Close()); failure != nil {
					failure = errors.Join(failure, os.Remove(output))
				}
			}()
			ctx, stop := Interruptible(command.Context())
			defer stop()
			options.Config, options.Progress = config, command.ErrOrStderr()
			began := time.Now()
			if err := bundle.Write(ctx, options, file); err != nil {
				return fmt.Errorf("write %s: %w", output, err)
			}
			fmt.Fprintf(command.OutOrStdout(), "wrote %s in %s; look through it before you send it\n", output, time.Since(began).Round(time.Second))
			return nil
		},
	}
	from.flags(command)
	command.Flags().StringVar(&output, "output", "", "file to write (default: flyte-support-TIME.tar.gz)")
	command.Flags().StringVar(&options.URL, "url", "", "address of the server (default: server.listen of the configuration, on this machine)")
	command.Flags().StringArrayVar(&options.Logs, "log", nil, "file whose last 4 MiB are added; may be repeated")
	return command
}
