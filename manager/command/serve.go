package command

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel"

	"github.com/flyte-binary/flyte-binary/internal/obs"
	"github.com/flyte-binary/flyte-binary/internal/obs/klogs"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

func serve() *cobra.Command {
	from := &source{}
	command := &cobra.Command{
		Use:   "serve",
		Short: "Serve the API and run the tasks, or a part of it",
		Long: `Serves the API, the console and the ports of tasks, and runs tasks on Kubernetes: everything in one process, or with --target
a part of it. It applies pending migrations first unless database.migrate is off. It stops in order at SIGTERM or Ctrl-C.` + readMore("docs/operations.md"),
		Example: `  # everything in one process
  flyte-binary serve --config flyte.yaml

  # the API, and one controller for each Kubernetes cluster
  flyte-binary serve --config flyte.yaml --target api
  flyte-binary serve --config east.yaml --target controller --cluster east`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			config, err := configuration.Load(from.path, from.set)
			if err != nil {
				return err
			}
			log, level, err := obs.NewAdjustableLogger(config.Logging, command.ErrOrStderr())
			if err != nil {
				return err
			}
			klogs.Install(log)
			// What metrics and spans meet, such as a database that does not answer a scrape.
			otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn().Err(err).Msg("telemetry is incomplete") }))
			ctx, stop := Interruptible(command.Context())
			defer stop()
			server, err := manager.Complete(ctx, config, manager.Options{Logger: log, LogLevel: level, Version: Version})
			if err != nil {
				return err
			}
			return server.Run(ctx)
		},
	}
	from.flags(command)
	from.target(command)
	from.cluster(command)
	return command
}

// Interruptible is a context that ends at the first SIGINT or SIGTERM. The second signal ends the process at once.
func Interruptible(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	// Room for both signals: Notify does not wait for a reader.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	finished := make(chan struct{})
	go func() {
		defer signal.Stop(signals)
		for range 2 {
			select {
			case <-signals:
			case <-finished:
				return
			}
			if ctx.Err() != nil {
				os.Exit(1)
			}
			cancel()
		}
	}()
	return ctx, func() { cancel(); close(finished) }
}
