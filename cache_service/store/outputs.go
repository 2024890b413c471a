package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Outputs is an entry.
type Outputs struct {
	URI       string
	Metadata  []byte
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Get reads an entry; nil when there is none.
func (s *Store) Get(ctx context.Context, key Key) (*Outputs, error) {
	const query = `SELECT output_uri, metadata, created_at, updated_at FROM cache_outputs WHERE project = $1 AND domain = $2 AND key = $3`
	var o Outputs
	err := s.pool.QueryRow(ctx, query, key.Project, key.Domain, key.Key).Scan(&o.URI, &o.Metadata, &o.CreatedAt, &o.UpdatedAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // none is not an error
	}
	if err != nil {
		return nil, fmt.Errorf("read cache entry: %w", err)
	}
	return &o, nil
}

// Replace says when a Put may replace an existing entry.
type Replace struct {
	// Always replaces any entry.
	Always bool
	// OlderThan replaces an entry of a greater age; 0 means that age does not matter.
	OlderThan time.Duration
}

// Put stores outputs under a key and reports whether the key has them now. It returns false when the key has other
// outputs that may not be replaced. Storing the same URI again changes nothing, and resets the age only on explicit
// replacement.
func (s *Store) Put(ctx context.Context, key Key, uri string, metadata []byte, replace Replace) (bool, error) {
	const query = `
		INSERT INTO cache_outputs AS had (project, domain, key, output_uri, metadata, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $6)
		ON CONFLICT (project, domain, key) DO UPDATE SET
			output_uri = excluded.output_uri,
			metadata = CASE WHEN had.output_uri = excluded.output_uri AND NOT $7 THEN had.metadata ELSE excluded.metadata END,
			updated_at = CASE WHEN had.output_uri = excluded.output_uri AND NOT $7 THEN had.updated_at ELSE excluded.updated_at END
		WHERE $7 OR had.output_uri = excluded.output_uri OR had.updated_at < $8`
	now := s.clock.Now()
	var before *time.Time
	if replace.OlderThan > 0 {
		at := now.Add(-replace.OlderThan)
		before = &at
	}
	tag, err := s.pool.Exec(ctx, query, key.Project, key.Domain, key.Key, uri, metadata, now, replace.Always, before)
	if err != nil {
		return false, fmt.Errorf("put cache entry: %w", err)
	}
	return tag.RowsAffected() == 1, nil
}

// Delete removes an entry and reports whether there was one.
func (s *Store) Delete(ctx context.Context, key Key) (bool, error) {
	const query = `DELETE FROM cache_outputs WHERE project = $1 AND domain = $2 AND key = $3`
	tag, err := s.pool.Exec(ctx, query, key.Project, key.Domain, key.Key)
	if err != nil {
		return false, fmt.Errorf("delete cache entry: %w", err)
	}
	return tag.RowsAffected() == 1, nil
}

// Drop removes an entry unless it has other outputs by now.
func (s *Store) Drop(ctx context.Context, key Key, seen *Outputs) error {
	const query = `DELETE FROM cache_outputs WHERE project = $1 AND domain = $2 AND key = $3 AND output_uri = $4 AND updated_at = $5`
	if _, err := s.pool.Exec(ctx, query, key.Project, key.Domain, key.Key, seen.URI, seen.UpdatedAt); err != nil {
		return fmt.Errorf("drop cache entry: %w", err)
	}
	return nil
}
