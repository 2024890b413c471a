// Package embedded is the child's side of the demo's Kubernetes: etcd, the API server and the controllers in one
// process. Only it and its parent link them, so that tests of everything else stay light.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/flyte-binary/flyte-binary/demo/kube"
	"github.com/flyte-binary/flyte-binary/internal/work/supervise"
)

// options are the command line of the child; everything else is in the working directory.
type options struct {
	port      int
	kubelet   kube.KubeletAccess
	profiling bool
}

// Command is the child's side: a hidden subcommand that runs etcd, the API server and the controllers in the working
// directory until it receives a signal or the parent ends.
func Command() *cobra.Command {
	var opts options
	cmd := &cobra.Command{
		Use:    kube.CommandName,
		Short:  "Run the demo's Kubernetes API server (started by demo)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			ctx, cancel := supervise.UntilOrphaned(ctx)
			defer cancel()
			listener, err := inherited()
			if err != nil {
				return err
			}
			return serve(ctx, listener, opts)
		},
	}
	cmd.Flags().IntVar(&opts.port, "port", 0, "port of the inherited listener")
	cmd.Flags().StringVar(&opts.kubelet.Authority, "kubelet-authority", "", "certificate of the node's authority")
	cmd.Flags().StringVar(&opts.kubelet.ClientCertificate, "kubelet-certificate", "", "client certificate for the node")
	cmd.Flags().StringVar(&opts.kubelet.ClientKey, "kubelet-key", "", "key of that certificate")
	cmd.Flags().BoolVar(&opts.profiling, "profiling", false, "serve profiles below /debug/pprof, to holders of the token")
	return cmd
}

func inherited() (net.Listener, error) {
	file := os.NewFile(kube.InheritedListener, "listener")
	if file == nil {
		return nil, errors.New("no listener inherited: this command is started by demo")
	}
	defer file.Close()
	listener, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("no listener inherited: this command is started by demo: %w", err)
	}
	return listener, nil
}

// serve runs the three parts. The API server stops first and storage last: in the reverse order its watches and leases
// would wait for a stopped etcd.
func serve(ctx context.Context, listener net.Listener, opts options) error {
	store, err := startEtcd("etcd")
	if err != nil {
		return err
	}
	defer store.stop()
	server, err := newAPIServer(ctx, store.endpoint, listener, opts)
	if err != nil {
		return err
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- server.prepared.Run(running) }()
	controllers, stopControllers := context.WithCancel(running)
	defer stopControllers()
	controllersEnded := startControllers(controllers, server.loopback)
	select {
	case err := <-ended:
		return errors.Join(errors.New("the API server ended unexpectedly"), err)
	case err := <-store.failed():
		return fmt.Errorf("etcd failed: %w", err)
	case err := <-controllersEnded:
		return fmt.Errorf("controllers: %w", err)
	case <-ctx.Done():
	}
	stopControllers()
	cancel()
	return <-ended
}
