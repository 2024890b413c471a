package command

import (
	"context"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flyte-binary/flyte-binary/internal/obs"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// source holds the flags that say where the configuration comes from.
type source struct {
	path string
	set  []string
}

func (s *source) flags(command *cobra.Command) {
	command.Flags().StringVar(&s.path, "config", "", "configuration file (YAML)")
	command.Flags().StringArrayVar(&s.set, "set", nil, "override a key, for example --set server.listen=127.0.0.1:8090; may be repeated")
	complete(command, "config", func(string) ([]string, cobra.ShellCompDirective) {
		return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
	})
	complete(command, "set", CompleteOverride)
}

// withConfig runs a command that works next to the servers, with their configuration and their log, until it is interrupted.
func (s *source) withConfig(command *cobra.Command, do func(ctx context.Context, config configuration.Config, log zerolog.Logger) error) error {
	config, _, err := configuration.Read(s.path, s.set)
	if err != nil {
		return err
	}
	log, err := obs.NewLogger(config.Logging, command.ErrOrStderr())
	if err != nil {
		return err
	}
	ctx, stop := Interruptible(command.Context())
	defer stop()
	return do(ctx, config, log)
}

// target adds the flag --target, which sets the key target.
func (s *source) target(command *cobra.Command) *pflag.Flag {
	command.Flags().Var(&targetFlag{from: s}, "target", "part to run: all, api or controller (default: the key target, else all)")
	complete(command, "target", fixed(targetNames()...))
	return command.Flags().Lookup("target")
}

// targetFlag is --target: an override of one key.
type targetFlag struct {
	from  *source
	value string
}

// String implements pflag.Value.
func (t *targetFlag) String() string { return t.value }

// Type implements pflag.Value.
func (*targetFlag) Type() string { return "string" }

// Set implements pflag.Value.
func (t *targetFlag) Set(value string) error {
	t.value = value
	t.from.set = append(t.from.set, "target="+value)
	return nil
}
