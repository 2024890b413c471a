package pgdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

const (
	// lockTimeout is how long a statement of a migration waits for a lock. While it waits, everybody who comes after it waits
	// too, also for locks that would not disturb anybody.
	lockTimeout = 100 * time.Millisecond
	// lockPatience is for how long a migration that found a lock taken is tried again, and lockPause how long others go first.
	lockPatience = 10 * time.Minute
	lockPause    = 200 * time.Millisecond
)

// Migrate applies the pending migrations of each schema, in the order given. Processes that start together wait for
// each other, on a lock of one session. A migration that finds a table locked is rolled back and tried again a little later,
// so that others wait for it for a tenth of a second at most.
func Migrate(ctx context.Context, pool *pgxpool.Pool, schemas ...Schema) error {
	return withProviders(pool, schemas, func(_ Schema, provider *goose.Provider) error {
		ctx, cancel := context.WithTimeout(ctx, lockPatience)
		defer cancel()
		for {
			_, err := provider.Up(ctx)
			var refused *pgconn.PgError
			if !errors.As(err, &refused) || refused.Code != lockNotAvailable || clock.Sleep(ctx, clock.System{}, lockPause) != nil {
				return err
			}
		}
	})
}

// lockNotAvailable is the SQLSTATE of a statement that waited for lockTimeout.
const lockNotAvailable = "55P03"

// MigrateDown rolls back the newest applied migration of a schema and returns its version; 0 if there was none.
func MigrateDown(ctx context.Context, pool *pgxpool.Pool, schema Schema) (int64, error) {
	var version int64
	err := withProviders(pool, []Schema{schema}, func(_ Schema, provider *goose.Provider) error {
		result, err := provider.Down(ctx)
		if errors.Is(err, goose.ErrNoNextVersion) {
			return nil
		}
		if err != nil {
			return err
		}
		version = result.Source.Version
		return nil
	})
	return version, err
}

// Migration is the state of one migration.
type Migration struct {
	// Schema is the name of its schema.
	Schema  string
	Version int64
	Name    string
	// AppliedAt is zero while it is pending.
	AppliedAt time.Time
}

// MigrationStatus lists all migrations by schema, oldest first.
func MigrationStatus(ctx context.Context, pool *pgxpool.Pool, schemas ...Schema) ([]Migration, error) {
	var list []Migration
	err := withProviders(pool, schemas, func(schema Schema, provider *goose.Provider) error {
		states, err := provider.Status(ctx)
		for _, state := range states {
			list = append(list, Migration{
				Schema: schema.Name, Version: state.Source.Version, Name: state.Source.Path, AppliedAt: state.AppliedAt.UTC(),
			})
		}
		return err
	})
	return list, err
}

// CheckSchema returns a SchemaError unless the database has every schema, exactly or a newer one, as it
// has for the older replicas while a new release rolls out.
func CheckSchema(ctx context.Context, pool *pgxpool.Pool, schemas ...Schema) error {
	return withProviders(pool, schemas, func(schema Schema, provider *goose.Provider) error {
		current, target, err := provider.GetVersions(ctx)
		if err != nil {
			return err
		}
		if current < target {
			return &SchemaError{Name: schema.Name, Current: current, Wanted: target}
		}
		return nil
	})
}

// SchemaError is a schema that lacks migrations of this program.
type SchemaError struct {
	// Name is that of the schema.
	Name string
	// Current is the version of the newest migration that is applied, Wanted that of the newest one of the program.
	Current, Wanted int64
}

// Error implements error.
func (e *SchemaError) Error() string {
	return fmt.Sprintf("the schema %s is at version %d and must be at %d", e.Name, e.Current, e.Wanted)
}

// withProviders uses connections of its own, since the session lock must not take one of a small pool.
func withProviders(pool *pgxpool.Pool, schemas []Schema, use func(Schema, *goose.Provider) error) (failure error) {
	config := pool.Config().ConnConfig.Copy()
	delete(config.RuntimeParams, "statement_timeout") // a migration may build an index
	config.RuntimeParams["lock_timeout"] = strconv.FormatInt(lockTimeout.Milliseconds(), 10)
	for _, schema := range schemas {
		if err := withConnections(config, schema, use); err != nil {
			return err
		}
	}
	return nil
}

func withConnections(config *pgx.ConnConfig, schema Schema, use func(Schema, *goose.Provider) error) (failure error) {
	if schema.Namespace != "" {
		if err := createNamespace(config, schema.Namespace); err != nil {
			return err
		}
		config = config.Copy()
		config.RuntimeParams["search_path"] = schema.Namespace
	}
	db := stdlib.OpenDB(*config)
	defer func() { failure = errors.Join(failure, closeDB(db)) }()
	return withProvider(db, schema, use)
}

func withProvider(db *sql.DB, schema Schema, use func(Schema, *goose.Provider) error) error {
	files, err := migrationRoot(schema.Files)
	if err != nil {
		return err
	}
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 600)) // every second for ten minutes
	if err != nil {
		return fmt.Errorf("create migration lock: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithTableName(schema.table()),
		goose.WithSessionLocker(locker), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("read migrations of %s: %w", schema.Name, err)
	}
	err = use(schema, provider)
	var partial *goose.PartialError
	switch {
	case errors.As(err, &partial) && partial.Failed != nil:
		return fmt.Errorf("migration %s: %w", partial.Failed.Source.Path, err)
	case err != nil:
		return fmt.Errorf("migrations: %w", err)
	}
	return nil
}

func closeDB(db *sql.DB) error {
	if err := db.Close(); err != nil {
		return fmt.Errorf("close migration connections: %w", err)
	}
	return nil
}

// migrationRoot finds the folder with the SQL files: embedding keeps the folder's name.
func migrationRoot(migrations fs.FS) (fs.FS, error) {
	entries, err := fs.ReadDir(migrations, ".")
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	if len(entries) == 1 && entries[0].IsDir() {
		return fs.Sub(migrations, entries[0].Name())
	}
	return migrations, nil
}
