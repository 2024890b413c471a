// Package demo runs the whole product on one machine that has only Python: a private
// Postgres and a Kubernetes API server as children, a node that runs pods as processes, the server itself, and files
// for an object store. It is built on manager, and only main imports it.
package demo

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flyte-binary/flyte-binary/demo/operators"
	"github.com/flyte-binary/flyte-binary/demo/postgres"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager/command"
)

// Command is the subcommand demo.
func Command() *cobra.Command {
	var flags Options
	var images []string
	var config string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run a complete backend on this machine: database, Kubernetes API, tasks as processes",
		Long: `Runs a complete backend on this machine: a private Postgres, a Kubernetes API server, a local node that runs tasks as
processes, and the server. Everything stays in one directory and survives a restart. Nothing is reachable from
other machines unless --listen says so. Ctrl-C stops everything in order, a second Ctrl-C at once.

Read more in docs/demo.md.`,
		Example: `  flyte-binary demo
  flyte-binary demo --python .venv --image "ghcr.io/acme/training:*=training/.venv"
  flyte-binary demo --access
  flyte-binary demo --with ray,dask --python .venv
  flyte-binary demo --ephemeral --listen 127.0.0.1:0 --set logging.level=debug`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			given, err := readFile(config)
			if err != nil {
				return &command.UsageError{Err: err}
			}
			for name, option := range map[string]struct {
				key  string
				take func()
			}{
				"data-dir":           {"dataDir", func() { given.DataDir = flags.DataDir }},
				"listen":             {"listen", func() { given.Listen = flags.Listen }},
				"ephemeral":          {"ephemeral", func() { given.Ephemeral = flags.Ephemeral }},
				"python":             {"python", func() { given.Python = flags.Python }},
				"postgres":           {"postgres", func() { given.Postgres = flags.Postgres }},
				"cpus":               {"cpus", func() { given.CPUs = flags.CPUs }},
				"gpus":               {"gpus", func() { given.GPUs = flags.GPUs }},
				"access":             {"access", func() { given.Access = flags.Access }},
				"with":               {"with", func() { given.With = flags.With }},
				"warm":               {"warm", func() { given.Warm = flags.Warm }},
				"sample":             {"sample", func() { given.sample = flags.sample }},
				"profile-kubernetes": {"profileKubernetes", func() { given.profileKubernetes = flags.profileKubernetes }},
			} {
				if cmd.Flags().Changed(name) {
					option.take()
					given.flagged("--"+name, option.key)
				}
			}
			given.Set = append(given.Set, flags.Set...)
			given.addImages(images)
			opts, err := given.complete()
			if err != nil {
				return &command.UsageError{Err: err}
			}
			ctx, stop := interruptible(cmd.Context(), clock.System{})
			defer stop()
			return run(ctx, opts, cmd.OutOrStdout())
		},
	}
	set := cmd.Flags()
	set.StringVar(&flags.DataDir, "data-dir", "", "data directory (default ~/.flyte-binary/demo, for root /var/lib/flyte-binary/demo)")
	set.StringVar(&flags.Listen, "listen", defaultListen, "host:port to serve on; port 0 picks a free one")
	set.BoolVar(&flags.Ephemeral, "ephemeral", false, "use a temporary data directory and delete it at the end")
	set.StringVar(&flags.Python, "python", "", "Python environment for tasks (default: the active one if it has the Flyte SDK, else one created for the demo)")
	set.StringVar(&flags.Postgres, "postgres", "", "directory of Postgres's programs, or "+postgres.Bundled+" (default: those of this machine, else the bundled ones)")
	set.StringArrayVar(&images, "image", nil, "Python environment for an image, as name=DIR; * in the name matches any text; may be repeated")
	set.Float64Var(&flags.CPUs, "cpus", 0, "total CPUs that tasks may request (default: all of this machine)")
	set.StringVar(&flags.GPUs, "gpus", gpusAuto, "GPUs that tasks may request: auto for those that nvidia-smi and rocm-smi find, off, or a file that lists them")
	set.StringVar(&flags.Warm, "warm", warmOn, "start tasks from a process that has imported the SDK: on or off (Linux only)")
	set.StringSliceVar(&flags.With, "with", nil, "run tasks of these types as clusters of processes: "+strings.Join(operators.Names(), ", ")+" (Linux only)")
	set.BoolVar(&flags.Access, "access", false, "let only people who sign in use the demo: admin, contributor and viewer, with passwords that are printed")
	set.StringArrayVar(&flags.Set, "set", nil, "override a key of the server's configuration, for example --set logging.level=debug; may be repeated")
	set.StringVar(&config, "config", "", "YAML file with these options in its section demo")
	set.StringVar(&flags.sample, "sample", "", "Python file whose task main is run when the demo is ready")
	set.BoolVar(&flags.profileKubernetes, "profile-kubernetes", false, "serve profiles of the API server, at its /debug/pprof")
	for _, err := range []error{
		set.MarkHidden("sample"), set.MarkHidden("profile-kubernetes"), cmd.MarkFlagDirname("data-dir"), cmd.MarkFlagDirname("python"), cmd.MarkFlagFilename("config", "yaml", "yml"),
		cmd.RegisterFlagCompletionFunc("with", cobra.FixedCompletions(operators.Names(), cobra.ShellCompDirectiveNoFileComp)),
		cmd.RegisterFlagCompletionFunc("warm", cobra.FixedCompletions([]string{warmOn, warmOff}, cobra.ShellCompDirectiveNoFileComp)),
		cmd.RegisterFlagCompletionFunc("set", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return command.CompleteOverride(typed)
		}),
	} {
		if err != nil {
			panic(fmt.Sprintf("flag of our own: %v", err))
		}
	}
	return cmd
}
