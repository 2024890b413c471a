package command

import (
	"context"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/runs/retention"
)

// listed is how many runs a dry run prints.
const listed = 1000

func retain() *cobra.Command {
	from := &source{}
	var dry, now bool
	command := &cobra.Command{
		Use:   "retention",
		Short: "Delete runs beyond the configured limits; --dry-run lists them",
		Long: `Deletes runs beyond runs.retention.maxAge and runs.retention.maxRuns, even if retention is not enabled for the servers.
It may run while servers run. --dry-run only lists the runs. Deleted runs cannot be restored.` + readMore("docs/retention.md"),
		Example: `  flyte-binary retention --dry-run --config flyte.yaml --set runs.retention.maxAge=720h
  flyte-binary retention --now --config flyte.yaml --set runs.retention.maxRuns=10000`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return from.withConfig(command, func(ctx context.Context, config configuration.Config, log zerolog.Logger) error {
				keeper, closing, err := manager.OpenRetention(ctx, config, log)
				if err != nil {
					return err
				}
				defer closing()
				if dry {
					return preview(ctx, command, keeper)
				}
				var deleted int
				// No server deletes meanwhile: this waits for the lease of its loop.
				err = keeper.Exclusively(ctx, func(ctx context.Context) error {
					deleted, err = keeper.Sweep(ctx)
					return err
				})
				command.Printf("deleted %d runs\n", deleted)
				return err
			})
		},
	}
	from.flags(command)
	command.Flags().BoolVar(&dry, "dry-run", false, "list the runs that would be deleted, and delete none")
	command.Flags().BoolVar(&now, "now", false, "delete the runs")
	command.MarkFlagsMutuallyExclusive("dry-run", "now")
	command.MarkFlagsOneRequired("dry-run", "now")
	return command
}

func preview(ctx context.Context, command *cobra.Command, keeper *retention.Keeper) error {
	found, err := keeper.Preview(ctx, listed)
	if err != nil {
		return err
	}
	for _, run := range found.First {
		kind := ""
		if run.Tracked {
			kind = " (tracked)"
		}
		command.Printf("%s%s  ended %s  %s\n", run.Run, kind, run.EndedAt.UTC().Format(time.RFC3339), keeper.Reason(run))
	}
	if more := found.Runs - int64(len(found.First)); more > 0 {
		command.Printf("and %d more\n", more)
	}
	command.Printf("%d runs with %d actions would be deleted\n", found.Runs, found.Actions)
	return nil
}
