package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
)

// PartitionSchema is the set of keys that the versions of a name have.
type PartitionSchema struct {
	// TimeKey is the key of the time partition; empty when there is none.
	TimeKey string
	// Granularity is a core.Granularity; 0 without a time partition.
	Granularity int16
	// Keys are the other keys, in the order in which they were declared.
	Keys []string
}

// Equal reports whether two schemas have the same keys, in any order.
func (s PartitionSchema) Equal(other PartitionSchema) bool {
	return s.TimeKey == other.TimeKey && s.Granularity == other.Granularity &&
		slices.Equal(slices.Sorted(slices.Values(s.Keys)), slices.Sorted(slices.Values(other.Keys)))
}

// Fixed is the schema of a name.
type Fixed struct {
	PartitionSchema
	// Declared says that it was declared; otherwise the first version fixed it.
	Declared bool
}

// Schema reads the schema of a name; nil when the name has neither a declaration nor a version.
func (s *Store) Schema(ctx context.Context, name Name) (*Fixed, error) {
	f, err := scanSchema(s.pool.QueryRow(ctx, `SELECT `+schemaColumns+` FROM artifact_names n
		WHERE project = $1 AND domain = $2 AND name = $3 AND has_schema`, name.Project, name.Domain, name.Name))
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // none is not an error
	}
	if err != nil {
		return nil, fmt.Errorf("read partition schema: %w", err)
	}
	return f, nil
}

const schemaColumns = `n.time_key, n.granularity, n.partition_keys, n.declared`

func scanSchema(row pgx.Row, more ...any) (*Fixed, error) {
	f := &Fixed{}
	if err := row.Scan(append([]any{&f.TimeKey, &f.Granularity, &f.Keys, &f.Declared}, more...)...); err != nil {
		return nil, err
	}
	return f, nil
}

var errOther = errors.New("the name has other keys")

// Declare fixes the schema of a name. It changes nothing and returns the other schema when the name has one that is not
// equal.
func (s *Store) Declare(ctx context.Context, name Name, org string, schema PartitionSchema) (other *Fixed, err error) {
	err = pgdb.Change(ctx, s.pool, func(tx pgx.Tx) error {
		row, err := lockName(ctx, tx, name, org)
		if err != nil {
			return err
		}
		if row.hasSchema && !row.schema.Equal(schema) {
			other = &row.schema
			return errOther // nothing is changed, so nothing is recorded as changed
		}
		if row.hasSchema {
			schema = row.schema.PartitionSchema // in the order that it has
		}
		return row.fix(ctx, tx, schema, true)
	})
	switch {
	case errors.Is(err, errOther):
		return other, nil
	case err != nil:
		return nil, fmt.Errorf("declare partition schema: %w", err)
	}
	return nil, nil //nolint:nilnil // no other one
}

// nameRow is a locked row of a name.
type nameRow struct {
	id        int64
	hasSchema bool
	schema    Fixed
}

// lockName creates the name if it is new, and locks it.
func lockName(ctx context.Context, tx pgx.Tx, name Name, org string) (*nameRow, error) {
	if _, err := tx.Exec(ctx, `INSERT INTO artifact_names (project, domain, name, org) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
		name.Project, name.Domain, name.Name, org); err != nil {
		return nil, err
	}
	row := &nameRow{}
	schema, err := scanSchema(tx.QueryRow(ctx, `SELECT `+schemaColumns+`, n.id, n.has_schema FROM artifact_names n
		WHERE project = $1 AND domain = $2 AND name = $3 FOR UPDATE`, name.Project, name.Domain, name.Name), &row.id, &row.hasSchema)
	if err != nil {
		return nil, err
	}
	row.schema = *schema
	return row, nil
}

func (n *nameRow) fix(ctx context.Context, tx pgx.Tx, schema PartitionSchema, declared bool) error {
	_, err := tx.Exec(ctx, `UPDATE artifact_names SET has_schema = true, declared = $2, time_key = $3, granularity = $4, partition_keys = $5 WHERE id = $1`,
		n.id, declared, schema.TimeKey, schema.Granularity, append([]string{}, schema.Keys...))
	return err
}
