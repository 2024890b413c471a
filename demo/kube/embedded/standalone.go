package embedded

import (
	"fmt"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
)

// ControllersCommand is a hidden subcommand that runs the controllers alone, for an API server that runs elsewhere and has
// none. Tests use it as the controller manager of an external cluster.
func ControllersCommand() *cobra.Command {
	var kubeconfig string
	cmd := &cobra.Command{
		Use:    "internal-controllers",
		Short:  "Run garbage collection, namespace deletion and default service accounts for an API server without them",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			cluster, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
			if err != nil {
				return fmt.Errorf("--kubeconfig: %w", err)
			}
			if err := runControllers(ctx, cluster); err != nil && ctx.Err() == nil {
				return fmt.Errorf("controllers: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig of the API server")
	return cmd
}
