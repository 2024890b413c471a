package command

import (
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/flyte-binary/flyte-binary/internal/pgdb"
	"github.com/flyte-binary/flyte-binary/manager"
)

func migrate() *cobra.Command {
	command := &cobra.Command{Use: "migrate", Short: "Change the database schema or show its status"}
	schema := manager.Schemas()[0].Name
	down := onDatabase("down", "Roll back the last migration of a service (destroys its data)", func(c *cobra.Command, pool *pgxpool.Pool) error {
		return migrateDown(c, pool, schema)
	})
	down.Flags().StringVar(&schema, "schema", schema, "service whose last migration is rolled back")
	command.AddCommand(
		down,
		onDatabase("up", "Apply every pending migration", func(c *cobra.Command, pool *pgxpool.Pool) error {
			return pgdb.Migrate(c.Context(), pool, manager.Schemas()...)
		}),
		onDatabase("status", "List the migrations and which are applied", func(c *cobra.Command, pool *pgxpool.Pool) error {
			all, err := pgdb.MigrationStatus(c.Context(), pool, manager.Schemas()...)
			for _, migration := range all {
				state := "pending"
				if !migration.AppliedAt.IsZero() {
					state = "applied " + migration.AppliedAt.Format(time.RFC3339)
				}
				fmt.Fprintf(c.OutOrStdout(), "%-6s %-30s %s\n", migration.Schema, migration.Name, state)
			}
			return err
		}),
	)
	return command
}

func migrateDown(c *cobra.Command, pool *pgxpool.Pool, name string) error {
	var names []string
	for _, schema := range manager.Schemas() {
		names = append(names, schema.Name)
		if schema.Name != name {
			continue
		}
		version, err := pgdb.MigrateDown(c.Context(), pool, schema)
		if err == nil && version == 0 {
			fmt.Fprintln(c.OutOrStdout(), "nothing to roll back")
		} else if err == nil {
			fmt.Fprintf(c.OutOrStdout(), "rolled back %d of %s\n", version, name)
		}
		return err
	}
	return fmt.Errorf("--schema: unknown schema %q, want %s", name, strings.Join(names, " or "))
}

// onDatabase returns a command that uses only the database.
func onDatabase(use, short string, run func(*cobra.Command, *pgxpool.Pool) error) *cobra.Command {
	from := &source{}
	command := &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			// Validate the database section only; nothing else is used.
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
