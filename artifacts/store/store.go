// Package store keeps artifacts in Postgres: names, their versions, what lists filter by, and what versions point to. A
// version and everything that belongs to it is written in one transaction, under the lock of its name. It serves the
// artifacts service and has no access to blobs or other services.
package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// Channel is where new versions are announced; see internal/pg/pgdb.
const Channel = "flyte_artifacts"

// Name is a name in its project and domain.
type Name struct{ Project, Domain, Name string }

// VersionKey names a version.
type VersionKey struct {
	Name
	Version string
}

// LabelKind says what a label is.
type LabelKind int16

// The kinds of labels.
const (
	LabelPartition LabelKind = 1
	LabelMetadata  LabelKind = 2
)

// Label is a partition value or an entry of the metadata.
type Label struct {
	Kind       LabelKind
	Key, Value string
}

// Version is a stored version.
type Version struct {
	VersionKey
	ID        int64
	Org       string
	CreatedAt time.Time
	CreatedBy []byte // common.EnrichedIdentity
	Spec      []byte // artifact.ArtifactSpec
	Mismatch  []byte // artifact.PartitionSchemaMismatch; nil for none
}

// Store reads and writes artifacts.
type Store struct {
	pool  *pgxpool.Pool
	clock clock.Clock
}

// New returns a store on a pool that the caller owns.
func New(pool *pgxpool.Pool, clk clock.Clock) *Store { return &Store{pool: pool, clock: clk} }

const versionColumns = `v.id, v.org, v.project, v.domain, v.name, v.version, v.created_at, v.created_by, v.spec, v.mismatch`

func (v *Version) targets() []any {
	return []any{&v.ID, &v.Org, &v.Project, &v.Domain, &v.Name.Name, &v.Version, &v.CreatedAt, &v.CreatedBy, &v.Spec, &v.Mismatch}
}

func scanVersion(row pgx.CollectableRow) (Version, error) {
	var v Version
	return v, row.Scan(v.targets()...)
}

func collectVersions(rows pgx.Rows, err error) ([]Version, error) {
	if err != nil {
		return nil, fmt.Errorf("read artifacts: %w", err)
	}
	found, err := pgx.CollectRows(rows, scanVersion)
	if err != nil {
		return nil, fmt.Errorf("read artifacts: %w", err)
	}
	return found, nil
}

// nameID finds a name; pgx.ErrNoRows when it does not exist.
func nameID(ctx context.Context, q interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}, name Name, lock string,
) (id int64, err error) {
	err = q.QueryRow(ctx, `SELECT id FROM artifact_names WHERE project = $1 AND domain = $2 AND name = $3 `+lock,
		name.Project, name.Domain, name.Name).Scan(&id)
	return id, err
}
