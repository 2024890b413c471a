package command

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/flyte-binary/flyte-binary/manager"
)

func serve() *cobra.Command {
	from := &source{}
	command := &cobra.Command{
		Use:   "serve",
		Short: "Serve the API and run what is queued",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			config, err := manager.Load(from.path, from.set)
			if err != nil {
				return err
			}
			level, err := zerolog.ParseLevel(config.Logging.Level)
			if err != nil {
				return err
			}
			log := zerolog.New(os.Stderr).Level(level).With().Timestamp().Logger()
			ctx, stop := Interruptible(command.Context())
			defer stop()
			server, err := config.Complete(ctx, manager.Options{Logger: log})
			if err != nil {
				return err
			}
			return server.Run(ctx)
		},
	}
	from.flags(command)
	return command
}

// Interruptible is a context that ends at the first SIGINT or SIGTERM. The second one ends the process at once.
func Interruptible(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
		}
		<-signals
		os.Exit(1)
	}()
	return ctx, cancel
}
