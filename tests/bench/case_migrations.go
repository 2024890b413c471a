package main

import (
	"context"
	"fmt"
	"io/fs"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
	"github.com/flyte-binary/flyte-binary/tests/bench/stack"
)

const (
	// oldSchema is the version of the tables of runs that the case upgrades from: the last one before migrations had to be online.
	oldSchema = 13
	// eventsOfEach is how many events each stored action has.
	eventsOfEach = 1
)

// onlineForms has what the rules of migrations allow for big tables, since the migrations so far only add columns and tables.
var onlineForms = pgdb.Schema{Name: "forms", Table: "bench_versions", Files: fstest.MapFS{
	"00001_index.sql": {Data: []byte(`-- +goose NO TRANSACTION
-- +goose Up
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS bench_actions_ended;
CREATE INDEX CONCURRENTLY bench_actions_ended ON actions (ended_at, id);
`)},
	"00002_constraint.sql": {Data: []byte(`-- +goose Up
ALTER TABLE actions ADD CONSTRAINT bench_attempt CHECK (attempt >= 0) NOT VALID;
`)},
	"00003_validate.sql": {Data: []byte(`-- +goose Up
ALTER TABLE actions VALIDATE CONSTRAINT bench_attempt;
`)},
}}

// measureMigrations upgrades tables with a tenth of the actions and with all of them, one migration after the other, while others read
// and write: what these wait for must not grow with the rows.
func measureMigrations(stored int, quiet time.Duration) func(context.Context, *stack.Stack, *figures.Result) error {
	return func(ctx context.Context, s *stack.Stack, r *figures.Result) error {
		for _, actions := range []int{stored / 10, stored} {
			if err := upgradeTables(ctx, s, r, actions, quiet); err != nil {
				return fmt.Errorf("with %d actions: %w", actions, err)
			}
		}
		return nil
	}
}

// upgradeTables fills tables of today's schema, takes them back to the old one, and applies the migrations again under
// load. Filling comes first since the generator writes today's columns.
func upgradeTables(ctx context.Context, s *stack.Stack, r *figures.Result, actions int, quiet time.Duration) error {
	pool, remove, err := emptyDatabase(ctx, s, fmt.Sprintf("migrations_%d", actions))
	if err != nil {
		return err
	}
	defer remove()
	if err := pgdb.Migrate(ctx, pool, store.Schema()); err != nil {
		return err
	}
	c := storetest.DefaultConfig()
	c.Wide, c.Runs, c.Events = 0, max(1, actions/(1+c.Children)), eventsOfEach
	if err := storetest.Fill(ctx, pool, c); err != nil {
		return err
	}
	for {
		undone, err := pgdb.MigrateDown(ctx, pool, store.Schema())
		if err != nil {
			return err
		}
		if undone <= oldSchema+1 {
			break
		}
	}

	load, err := startTableLoad(ctx, pool)
	if err != nil {
		return err
	}
	measured := func(name string, work func() error) error {
		load.reset()
		began := time.Now()
		if err := work(); err != nil {
			return err
		}
		took := time.Since(began)
		calls, locks := load.longest()
		name = fmt.Sprintf("%d actions, %s", actions, name)
		r.Add(name+": took", took.Seconds(), "s")
		r.Add(name+": longest call of a reader or writer", figures.Milliseconds(calls), "ms")
		r.Add(name+": longest wait for a lock", figures.Milliseconds(locks), "ms")
		return nil
	}
	// What callers wait for on this machine without any migration: the figure that the others are compared with.
	err = measured("no migration", func() error { return stack.Pause(ctx, quiet) })
	for _, schema := range []pgdb.Schema{store.Schema(), onlineForms} {
		if err == nil {
			err = oneByOne(ctx, pool, schema, measured)
		}
	}
	if failed := load.stop(); err == nil {
		err = failed
	}
	return err
}

// oneByOne applies the pending migrations of a schema.
func oneByOne(ctx context.Context, pool *pgxpool.Pool, schema pgdb.Schema, measured func(name string, work func() error) error) error {
	all, err := pgdb.MigrationStatus(ctx, pool, schema)
	if err != nil {
		return err
	}
	root, err := schema.Root()
	if err != nil {
		return err
	}
	until := schema
	files := fstest.MapFS{}
	until.Files = files
	for _, migration := range all {
		content, err := fs.ReadFile(root, migration.Name)
		if err != nil {
			return err
		}
		files[migration.Name] = &fstest.MapFile{Data: content}
		if !migration.AppliedAt.IsZero() {
			continue
		}
		if err := measured(migration.Name, func() error { return pgdb.Migrate(ctx, pool, until) }); err != nil {
			return err
		}
	}
	return nil
}
