// Package standalone runs the local node as a process of its own, beside an API server that somebody else started. Tests have
// it for the machines of an outside cluster. It stands above demo/node and only main knows it.
package standalone

import (
	"context"
	"fmt"
	"io"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/flyte-binary/flyte-binary/demo/node"
	"github.com/flyte-binary/flyte-binary/internal/clock"
	"github.com/flyte-binary/flyte-binary/internal/obs"
	"github.com/flyte-binary/flyte-binary/internal/obs/klogs"
)

// CommandName is the hidden subcommand that runs the node.
const CommandName = "internal-node"

// stopLimit bounds the orderly stop.
const stopLimit = 20 * time.Second

// Command is a hidden subcommand that runs the node until it is told to stop. Processes of pods end with an orderly stop
// and outlive any other end of the node.
func Command() *cobra.Command {
	cfg := node.DefaultConfig()
	var kubeconfig string
	var prepare bool
	cmd := &cobra.Command{
		Use:    CommandName,
		Short:  "Run the local node alone, for an API server that runs elsewhere on this machine",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			var err error
			if cfg.DataDir, err = filepath.Abs(cfg.DataDir); err != nil {
				return fmt.Errorf("--data-dir: %w", err)
			}
			if prepare {
				_, err := node.EnsureCertificates(filepath.Join(cfg.DataDir, "pki"), cfg.Address, clock.System{})
				return err
			}
			return run(ctx, cfg, kubeconfig, cmd.ErrOrStderr())
		},
	}
	set := cmd.Flags()
	set.StringVar(&kubeconfig, "kubeconfig", "", "file that leads to the API server")
	set.StringVar(&cfg.DataDir, "data-dir", "", "where pods' files and logs are kept, and in pki the certificates for the API server")
	set.StringVar(&cfg.Environment, "python", "", "environment that stands in for every image")
	set.Float64Var(&cfg.CPUs, "cpus", cfg.CPUs, "processors that pods may ask for together")
	set.BoolVar(&prepare, "prepare", false, "make the certificates, which the API server must have to read logs, and end")
	if err := cmd.MarkFlagRequired("data-dir"); err != nil {
		panic(fmt.Sprintf("flag of our own: %v", err))
	}
	return cmd
}

// run brings the node up and waits for the context's end.
func run(ctx context.Context, cfg node.Config, kubeconfig string, out io.Writer) error {
	log, err := obs.NewLogger(obs.DefaultLogConfig(), out)
	if err != nil {
		return err
	}
	klogs.Install(log)
	cluster, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("--kubeconfig: %w", err)
	}
	one, err := node.New(cfg, cluster, log, clock.System{})
	if err != nil {
		return err
	}
	if err := one.Start(ctx); err != nil {
		return err
	}
	log.Info().Str("node", cfg.Name).Msg("the node takes pods")
	<-ctx.Done()
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer cancel()
	return one.Stop(stopping)
}
