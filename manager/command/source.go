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
	command.Flags().Var(&keyFlag{from: s, key: "target"}, "target", "part to run: all, api or controller (default: the key target, else all)")
	complete(command, "target", fixed(targetNames()...))
	return command.Flags().Lookup("target")
}

// cluster adds the flag --cluster, which sets the key cluster.id.
func (s *source) cluster(command *cobra.Command) {
	command.Flags().Var(&keyFlag{from: s, key: "cluster.id"}, "cluster", "the cluster whose controller this is (default: the key cluster.id, else default)")
}

// keyFlag is a flag that overrides one key.
type keyFlag struct {
	from  *source
	key   string
	value string
}

// String implements pflag.Value.
func (f *keyFlag) String() string { return f.value }

// Type implements pflag.Value.
func (*keyFlag) Type() string { return "string" }

// Set implements pflag.Value.
func (f *keyFlag) Set(value string) error {
	f.value = value
	f.from.set = append(f.from.set, f.key+"="+value)
	return nil
}
