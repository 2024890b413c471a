package catalog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// SettingsKey is a scope of settings: empty is the whole installation, a domain alone is that domain, and both are a
// project in a domain.
type SettingsKey struct{ Domain, Project string }

// String returns the scope for messages.
func (k SettingsKey) String() string {
	switch {
	case k.Domain == "":
		return "the installation"
	case k.Project == "":
		return "domain " + k.Domain
	default:
		return "project " + k.Project + " in domain " + k.Domain
	}
}

// SettingsRow is a row of the settings table.
type SettingsRow struct {
	Key     SettingsKey
	Body    []byte // settings.Settings
	Version int64  // from 1
}

// Settings stores settings, one version per scope.
type Settings struct{ pool *pgxpool.Pool }

// NewSettings returns a store on a pool that the caller owns.
func NewSettings(pool *pgxpool.Pool) *Settings { return &Settings{pool: pool} }

// Levels reads the settings of a scope and of the scopes above it, broadest first.
func (s *Settings) Levels(ctx context.Context, key SettingsKey) ([]SettingsRow, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT domain, project, body, version FROM settings
		WHERE domain IN ('', $1) AND project IN ('', $2)
		ORDER BY domain <> '', project <> ''`, key.Domain, key.Project)
	if err != nil {
		return nil, fmt.Errorf("read settings of %s: %w", key, err)
	}
	levels, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r SettingsRow, err error) {
		return r, row.Scan(&r.Key.Domain, &r.Key.Project, &r.Body, &r.Version)
	})
	if err != nil {
		return nil, fmt.Errorf("read settings of %s: %w", key, err)
	}
	return levels, nil
}

// Create stores the first settings of a scope, as version 1. It returns AlreadyExists when the scope has settings.
func (s *Settings) Create(ctx context.Context, key SettingsKey, body []byte, now time.Time) error {
	return pgdb.Change(ctx, s.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			INSERT INTO settings (domain, project, body, version, updated_at) VALUES ($1, $2, $3, 1, $4) ON CONFLICT DO NOTHING`,
			key.Domain, key.Project, body, now)
		if err != nil {
			return fmt.Errorf("store settings of %s: %w", key, err)
		}
		if tag.RowsAffected() == 0 {
			return rpc.AlreadyExists("settings of %s already exist", key)
		}
		return nil
	})
}

// Update replaces the settings of a scope at a version and returns the next version. It returns NotFound when the
// scope has no settings, FailedPrecondition when they are at another version.
func (s *Settings) Update(ctx context.Context, key SettingsKey, version int64, body []byte, now time.Time) (next int64, err error) {
	err = pgdb.Change(ctx, s.pool, func(tx pgx.Tx) error {
		next, err = updateSettings(ctx, tx, key, version, body, now)
		return err
	})
	return next, err
}

func updateSettings(ctx context.Context, tx pgx.Tx, key SettingsKey, version int64, body []byte, now time.Time) (int64, error) {
	var next, stored int64
	err := tx.QueryRow(ctx, `
		UPDATE settings SET body = $4, version = version + 1, updated_at = $5
		WHERE domain = $1 AND project = $2 AND version = $3 RETURNING version`,
		key.Domain, key.Project, version, body, now).Scan(&next)
	if err == nil {
		return next, nil
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return 0, fmt.Errorf("update settings of %s: %w", key, err)
	}
	err = tx.QueryRow(ctx, `SELECT version FROM settings WHERE domain = $1 AND project = $2`, key.Domain, key.Project).Scan(&stored)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, rpc.NotFound("settings of %s do not exist", key)
	case err != nil:
		return 0, fmt.Errorf("read settings of %s: %w", key, err)
	}
	return 0, rpc.FailedPrecondition("settings of %s are at version %d, not %d: they were changed; read them again", key, stored, version)
}
