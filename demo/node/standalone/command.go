// Package standalone runs the local node as a process of its own, for an API server that runs elsewhere. Tests use it as
// the machine of an external cluster. Only main imports it.
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
	"github.com/flyte-binary/flyte-binary/demo/node/pki"
	"github.com/flyte-binary/flyte-binary/internal/obs"
	"github.com/flyte-binary/flyte-binary/internal/obs/klogs"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// CommandName is the hidden subcommand that runs the node.
const CommandName = "internal-node"

// stopLimit bounds the orderly stop.
const stopLimit = 20 * time.Second

// Command is a hidden subcommand that runs the node until a signal. A graceful stop ends the processes of pods; they
// outlive any other end of the node.
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
				_, err := pki.EnsureCertificates(filepath.Join(cfg.DataDir, "pki"), cfg.Address, clock.System{})
				return err
			}
			return run(ctx, cfg, kubeconfig, cmd.ErrOrStderr())
		},
	}
	set := cmd.Flags()
	set.StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig of the API server")
	set.StringVar(&cfg.DataDir, "data-dir", "", "directory of pods' files and logs; pki in it has the certificates for the API server")
	set.StringVar(&cfg.Environment, "python", "", "Python environment that replaces every image")
	set.Float64Var(&cfg.CPUs, "cpus", cfg.CPUs, "total CPUs that pods may request")
	set.BoolVar(&prepare, "prepare", false, "create the certificates, which the API server needs to read logs, and exit")
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
	log.Info().Str("node", cfg.Name).Msg("the node is ready")
	<-ctx.Done()
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer cancel()
	return one.Stop(stopping)
}
