package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/flyte-binary/flyte-binary/inpod/copilot"
	"github.com/flyte-binary/flyte-binary/inpod/worker"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
)

func workerCommand() *cobra.Command {
	var install string
	command := &cobra.Command{
		Use: "worker", Short: "Run the attempts of a reusable environment; runs in its pods", Hidden: true, Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if install != "" {
				return installProgram(install)
			}
			return runWorker(command.Context())
		},
	}
	command.Flags().StringVar(&install, "install", "", "only copy this program into a directory, for another container of the pod")
	return command
}

// installProgram copies this program into a directory.
func installProgram(dir string) (failure error) {
	own, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	from, err := os.Open(own)
	if err != nil {
		return fmt.Errorf("read this program: %w", err)
	}
	defer func() { failure = errors.Join(failure, from.Close()) }()
	to, err := os.OpenFile(filepath.Join(dir, "flyte-binary"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755) //nolint:gosec // others run it
	if err != nil {
		return fmt.Errorf("create the copy of this program: %w", err)
	}
	defer func() { failure = errors.Join(failure, to.Close()) }()
	if _, err := io.Copy(to, from); err != nil {
		return fmt.Errorf("copy this program: %w", err)
	}
	return nil
}

// runWorker runs a worker until SIGTERM and the end of what it runs, or until the server drains it.
func runWorker(ctx context.Context) (failure error) {
	token, concealed := worker.Conceal(worker.EnvToken) // before anything else of the user's can run
	config, err := worker.FromEnvironment(func(name string) string {
		if name == worker.EnvToken {
			return token
		}
		return os.Getenv(name)
	})
	if err != nil {
		return err
	}
	config.Version = Version
	if config.Dir, err = os.Getwd(); err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	if config.Scratch, err = os.MkdirTemp("", "flyte-worker-"); err != nil {
		return fmt.Errorf("create a directory for the worker's files: %w", err)
	}
	defer func() { failure = errors.Join(failure, os.RemoveAll(config.Scratch)) }()
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "FLYTE_WORKER_") { // the token is not for tasks
			config.Environ = append(config.Environ, variable)
		}
	}
	log := zerolog.New(os.Stderr).With().Timestamp().Str("worker", config.ID).Logger()
	if concealed != nil {
		log.Warn().Err(concealed).Msg("attempts may be able to read the worker's token")
	}
	if config.Deadline, err = worker.NewDeadline(); err != nil {
		log.Warn().Err(err).Msg("cannot set up the kernel timer; attempts keep running if this process is stopped past its lease")
	}
	store, err := workerStore(ctx, os.Getenv(worker.EnvStorage))
	if err != nil {
		return err
	}
	var logs worker.Store
	if store != nil {
		defer func() { failure = errors.Join(failure, store.Close()) }()
		logs = store
	}
	one, err := worker.New(config, logs, log)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	return one.Run(ctx)
}

// workerStore opens the object store of logs. There is none without a configuration.
func workerStore(ctx context.Context, text string) (*copilot.Stores, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // no store
	}
	config := blobstore.DefaultConfig()
	decoder := json.NewDecoder(strings.NewReader(text))
	// A key that this version does not know is an error: without it, the logs might go to another store than the server
	// reads.
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&config); err != nil {
		return nil, fmt.Errorf("%s: %w", worker.EnvStorage, err)
	}
	return copilot.OpenStores(ctx, config, os.Getenv)
}
