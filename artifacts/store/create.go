package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
)

// NewVersion is a version to create.
type NewVersion struct {
	VersionKey
	Org       string
	CreatedBy []byte
	Spec      []byte
	// Schema has the keys of the version's partitions.
	Schema PartitionSchema
	// Partition identifies the partition values among the versions of the name.
	Partition []byte
	// Partitions is the encoded core.Partitions; nil for none.
	Partitions []byte
	// TimePartition is nil without one.
	TimePartition *time.Time
	// Labels are what filters may ask for.
	Labels []Label
	// SourceRun and SourceAction are empty unless an action made it.
	SourceRun, SourceAction, SourceExternalRef string
	Parents                                    []VersionKey
	// Data are the canonical URIs in the object store that it points to.
	Data []string
	// Mismatch encodes how the keys differ from those of the name. It may refuse the version with an error.
	Mismatch func(fixed Fixed) ([]byte, error)
}

// ErrExists says that the version exists.
var ErrExists = errors.New("the version exists")

// Create stores a version with everything that belongs to it, and an event. The first version of a name that has no
// schema fixes it.
func (s *Store) Create(ctx context.Context, n NewVersion) (*Version, error) {
	v := &Version{VersionKey: n.VersionKey, Org: n.Org, CreatedBy: n.CreatedBy, Spec: n.Spec}
	err := pgdb.Change(ctx, s.pool, func(tx pgx.Tx) error {
		// Retention decides under the same lock, exclusively: it sees this version, or this version comes after it.
		if err := pgdb.LockRetentionShared(ctx, tx); err != nil {
			return err
		}
		row, err := lockName(ctx, tx, n.Name, n.Org)
		if err != nil {
			return err
		}
		switch {
		case !row.hasSchema:
			err = row.fix(ctx, tx, n.Schema, false)
		case !row.schema.Equal(n.Schema):
			v.Mismatch, err = n.Mismatch(row.schema)
		}
		if err != nil {
			return err
		}
		return s.insert(ctx, tx, row.id, &n, v)
	})
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "23505" && pg.TableName == "artifact_versions" {
		return nil, ErrExists
	}
	if err != nil {
		return nil, fmt.Errorf("create artifact: %w", err)
	}
	return v, nil
}

func (s *Store) insert(ctx context.Context, tx pgx.Tx, name int64, n *NewVersion, v *Version) error {
	const (
		// Versions of a name have different times, also when the clock is set back.
		insert = `
			INSERT INTO artifact_versions (name_id, org, project, domain, name, version, created_at, created_by, spec, mismatch, partition, partitions,
				newest, time_partition, source_run, source_action, source_external_ref)
			SELECT $1, $2, $3, $4, $5, $6, greatest($7::timestamptz, n.latest_at + interval '1 microsecond'), $8, $9, $10, $11, $12, true, $13, $14, $15, $16
			FROM artifact_names n WHERE n.id = $1
			RETURNING id, created_at`
		older = `UPDATE artifact_versions SET newest = false WHERE name_id = $1 AND partition = $2 AND id <> $3 AND newest`
		count = `
			UPDATE artifact_names SET versions = versions + 1, latest_id = $2, latest_at = $3,
				latest_time_partition = greatest(latest_time_partition, $4) WHERE id = $1`
		labels = `
			INSERT INTO artifact_labels (version_id, kind, key, value, project, domain, name_id, created_at)
			SELECT $1, l.kind, l.key, l.value, $2, $3, $4, $5 FROM unnest($6::smallint[], $7::text[], $8::text[]) AS l(kind, key, value)`
		parents = `
			INSERT INTO artifact_parents (version_id, position, project, domain, name, version)
			SELECT $1, p.position, p.project, p.domain, p.name, p.version
			FROM unnest($2::text[], $3::text[], $4::text[], $5::text[]) WITH ORDINALITY AS p(project, domain, name, version, position)`
		data  = `INSERT INTO artifact_data (version_id, uri) SELECT $1, unnest($2::text[])`
		event = `INSERT INTO artifact_events (version_id, created_at) VALUES ($1, $2)`
		wake  = `SELECT pg_notify($1, '')`
	)
	err := tx.QueryRow(ctx, insert, name, n.Org, n.Project, n.Domain, n.Name.Name, n.Version, s.clock.Now(), n.CreatedBy, n.Spec, v.Mismatch,
		n.Partition, n.Partitions, n.TimePartition, n.SourceRun, n.SourceAction, n.SourceExternalRef).Scan(&v.ID, &v.CreatedAt)
	if err != nil {
		return err
	}
	var batch pgx.Batch
	batch.Queue(older, name, n.Partition, v.ID)
	batch.Queue(count, name, v.ID, v.CreatedAt, n.TimePartition)
	if len(n.Labels) > 0 {
		batch.Queue(labels, v.ID, n.Project, n.Domain, name, v.CreatedAt,
			column(n.Labels, func(l Label) int16 { return int16(l.Kind) }),
			column(n.Labels, func(l Label) string { return l.Key }),
			column(n.Labels, func(l Label) string { return l.Value }))
	}
	if len(n.Parents) > 0 {
		batch.Queue(parents, v.ID,
			column(n.Parents, func(p VersionKey) string { return p.Project }),
			column(n.Parents, func(p VersionKey) string { return p.Domain }),
			column(n.Parents, func(p VersionKey) string { return p.Name.Name }),
			column(n.Parents, func(p VersionKey) string { return p.Version }))
	}
	if len(n.Data) > 0 {
		batch.Queue(data, v.ID, n.Data)
	}
	batch.Queue(event, v.ID, v.CreatedAt)
	batch.Queue(wake, Channel)
	return tx.SendBatch(ctx, &batch).Close()
}

func column[R, T any](rows []R, value func(R) T) []T {
	values := make([]T, len(rows))
	for i, r := range rows {
		values[i] = value(r)
	}
	return values
}
