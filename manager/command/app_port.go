package command

import (
	"github.com/spf13/cobra"

	"github.com/flyte-binary/flyte-binary/inpod/forward"
)

// appPort runs alongside every app on a cluster. inpod/forward says why.
func appPort() *cobra.Command {
	var listen, ready string
	var forwarder forward.Forwarder
	command := &cobra.Command{
		Use: "app-port", Short: "Pass the connections of an app on to its program; runs in its pod", Hidden: true, Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return forwarder.Run(command.Context(), listen, ready)
		},
	}
	command.Flags().StringVar(&listen, "listen", ":8012", "address that accepts connections")
	command.Flags().StringVar(&ready, "ready", ":8022", "address that answers at /ready whether the program listens")
	command.Flags().StringVar(&forwarder.To, "to", "127.0.0.1:8080", "address of the program")
	return command
}
