package command

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/flyte-binary/flyte-binary/internal/pgdb"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

func migrate() *cobra.Command {
	command := &cobra.Command{Use: "migrate", Short: "Change the database schema, or tell how it stands"}
	command.AddCommand(
		onDatabase("up", "Apply every pending migration", func(c *cobra.Command, pool *pgxpool.Pool) error {
			return pgdb.Migrate(c.Context(), pool, store.Migrations())
		}),
		onDatabase("down", "Take the last migration back; its data are lost", func(c *cobra.Command, pool *pgxpool.Pool) error {
			version, err := pgdb.MigrateDown(c.Context(), pool, store.Migrations())
			if err == nil && version == 0 {
				fmt.Fprintln(c.OutOrStdout(), "there is nothing to take back")
			} else if err == nil {
				fmt.Fprintf(c.OutOrStdout(), "took back %d\n", version)
			}
			return err
		}),
		onDatabase("status", "List the migrations and which are applied", func(c *cobra.Command, pool *pgxpool.Pool) error {
			all, err := pgdb.MigrationStatus(c.Context(), pool, store.Migrations())
			for _, migration := range all {
				state := "pending"
				if !migration.AppliedAt.IsZero() {
					state = "applied " + migration.AppliedAt.Format(time.RFC3339)
				}
				fmt.Fprintf(c.OutOrStdout(), "%-30s %s\n", migration.Name, state)
			}
			return err
		}),
	)
	return command
}

// onDatabase is a command that needs nothing but the database.
func onDatabase(use, short string, run func(*cobra.Command, *pgxpool.Pool) error) *cobra.Command {
	from := &source{}
	command := &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			// Only the database must be right here.
			config, err := manager.Read(from.path, from.set)
			if err != nil {
				return err
			}
			if err := config.Database.Validate(); err != nil {
				return fmt.Errorf("configuration: database.%w", err)
			}
			pool, err := pgdb.Open(command.Context(), config.Database)
			if err != nil {
				return err
			}
			defer pool.Close()
			return run(command, pool)
		},
	}
	from.flags(command)
	return command
}
