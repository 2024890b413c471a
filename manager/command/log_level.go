package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/manager/port"
)

func logLevel() *cobra.Command {
	from, url, reset := &source{}, "", false
	command := &cobra.Command{
		Use:   "log-level [LEVEL]",
		Short: "Show or change the log level of a running server",
		Long: `Shows the level of the log of a running server, or changes it to trace, debug, info, warn or error until the server
is restarted. It changes one process: name each of several replicas with --url.` + readMore("docs/operations.md"),
		Example: `  flyte-binary log-level --config flyte.yaml
  flyte-binary log-level debug --config flyte.yaml
  flyte-binary log-level --reset --url http://10.0.0.7:8090`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			// Only the address is used, so the rest need not be valid here.
			config, _, err := configuration.Read(from.path, from.set)
			if err != nil {
				return err
			}
			server, err := manager.NewRemote(config, url)
			if err != nil {
				return err
			}
			defer server.Close()
			var answer bytes.Buffer
			call := func() (int, error) { return server.Get(command.Context(), port.LogLevelPath, &answer) }
			if len(args) == 1 || reset {
				call = func() (int, error) {
					return server.Put(command.Context(), port.LogLevelPath, strings.Join(args, ""), &answer)
				}
			}
			status, err := call()
			if err != nil {
				return fmt.Errorf("%w; does a server run at %s? --url names another", err, server.URL())
			}
			var levels port.LogLevels
			if status != http.StatusOK || json.Unmarshal(answer.Bytes(), &levels) != nil {
				return fmt.Errorf("the server at %s answered %d: %s", server.URL(), status, strings.TrimSpace(answer.String()))
			}
			fmt.Fprintf(command.OutOrStdout(), "level %s (configured: %s)\n", levels.Level, levels.Configured)
			return nil
		},
	}
	from.flags(command)
	command.Flags().StringVar(&url, "url", "", "address of the server (default: server.listen of the configuration, on this machine)")
	command.Flags().BoolVar(&reset, "reset", false, "back to the configured level")
	return command
}
