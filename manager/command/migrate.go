package command

import (
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/manager/diagnose"
)

func migrate() *cobra.Command {
	command := &cobra.Command{
		Use: "migrate", Short: "Change the database schema or show its status",
		Long: `Applies, lists or rolls back migrations: changes of the database schema that come with a release. serve applies them by
itself unless database.migrate is off. Only the section database of the configuration is used.` + readMore("docs/upgrading.md"),
		Example: `  flyte-binary migrate status --config flyte.yaml
  flyte-binary migrate up --config flyte.yaml`,
	}
	// The default of --schema is the first service, that of runs.
	schema := manager.Schemas()[0].Name
	down := onDatabase("down", "Roll back the last migration of a service (destroys its data)", "  flyte-binary migrate down --config flyte.yaml --schema cache", func(c *cobra.Command, pool *pgxpool.Pool) error {
		return migrateDown(c, pool, schema)
	})
	down.Flags().StringVar(&schema, "schema", schema, "service whose last migration is rolled back")
	complete(down, "schema", fixed(schemaNames()...))
	command.AddCommand(
		down,
		onDatabase("up", "Apply every pending migration", "  flyte-binary migrate up --config flyte.yaml", func(c *cobra.Command, pool *pgxpool.Pool) error {
			return pgdb.Migrate(c.Context(), pool, manager.Schemas()...)
		}),
		onDatabase("status", "List the migrations and which are applied", "  flyte-binary migrate status --config flyte.yaml", func(c *cobra.Command, pool *pgxpool.Pool) error {
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
	for _, schema := range manager.Schemas() {
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
	return fmt.Errorf("--schema: unknown schema %q, want %s", name, strings.Join(schemaNames(), ", "))
}

func schemaNames() []string {
	var names []string
	for _, schema := range manager.Schemas() {
		names = append(names, schema.Name)
	}
	return names
}

// onDatabase returns a command that uses only the database.
func onDatabase(use, short, example string, run func(*cobra.Command, *pgxpool.Pool) error) *cobra.Command {
	from := &source{}
	command := &cobra.Command{
		Use: use, Short: short, Long: short + "." + readMore("docs/upgrading.md"), Example: example, Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			quiet()
			// Validate the database section only; nothing else is used.
			config, origins, err := configuration.Read(from.path, from.set)
			if err != nil {
				return err
			}
			if err := config.CheckDatabase(origins); err != nil {
				return err
			}
			pool, err := pgdb.Open(command.Context(), config.Database)
			if err != nil {
				return diagnose.Database(config.Database, err)
			}
			defer pool.Close()
			return diagnose.Migration(config.Database, run(command, pool))
		},
	}
	from.flags(command)
	return command
}
