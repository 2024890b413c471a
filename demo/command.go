// Package demo runs the whole product on one machine with nothing installed but Postgres's programs and Python: a private
// Postgres and a Kubernetes API server as children, a node that runs pods as processes, the server itself, and files
// for an object store. It stands at the top, above manager, and only main knows it.
package demo

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/flyte-binary/flyte-binary/internal/clock"
)

// Command is the subcommand demo.
func Command() *cobra.Command {
	var flags Options
	var images []string
	var config string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run a whole backend on this machine: database, Kubernetes API, tasks as processes",
		Long: `Runs a whole backend on this machine: a private Postgres, a Kubernetes API server, a local node that runs tasks as
processes, and the server. Everything stays in one directory and survives a restart. Nothing is reachable from
other machines unless --listen says so. Ctrl-C stops everything in order, a second Ctrl-C at once.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts := Options{}
			if config != "" {
				var err error
				if opts, err = readFile(config); err != nil {
					return err
				}
			}
			for name, take := range map[string]func(){
				"data-dir":  func() { opts.DataDir = flags.DataDir },
				"listen":    func() { opts.Listen = flags.Listen },
				"ephemeral": func() { opts.Ephemeral = flags.Ephemeral },
				"python":    func() { opts.Python = flags.Python },
				"cpus":      func() { opts.CPUs = flags.CPUs },
			} {
				if cmd.Flags().Changed(name) {
					take()
				}
			}
			opts.Set = append(opts.Set, flags.Set...)
			opts.sample = flags.sample
			if err := opts.addImages(images); err != nil {
				return err
			}
			opts, err := opts.complete()
			if err != nil {
				return err
			}
			ctx, stop := interruptible(cmd.Context(), clock.System{})
			defer stop()
			return run(ctx, opts, cmd.OutOrStdout())
		},
	}
	set := cmd.Flags()
	set.StringVar(&flags.DataDir, "data-dir", "", "where everything is kept (default ~/.flyte-binary/demo, for root /var/lib/flyte-binary/demo)")
	set.StringVar(&flags.Listen, "listen", defaultListen, "address of the one port; port 0 takes a free one")
	set.BoolVar(&flags.Ephemeral, "ephemeral", false, "keep nothing: use a temporary directory")
	set.StringVar(&flags.Python, "python", "", "Python environment in which tasks run (default: one made for the demo)")
	set.StringArrayVar(&images, "image", nil, "environment for an image, as name=DIR; a * in the name stands for any text; may be repeated")
	set.Float64Var(&flags.CPUs, "cpus", 0, "processors that tasks may ask for together (default: all of this machine)")
	set.StringArrayVar(&flags.Set, "set", nil, "override a key of the server's configuration, as in --set logging.level=debug")
	set.StringVar(&config, "config", "", "file with these options in its section demo")
	set.StringVar(&flags.sample, "sample", "", "Python file whose task main is run when everything is up")
	if err := set.MarkHidden("sample"); err != nil {
		panic(fmt.Sprintf("flag of our own: %v", err))
	}
	return cmd
}
