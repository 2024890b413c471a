package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// maxLatestPartitions is how many partitions a group shows.
const maxLatestPartitions = 16

// Group is a name with its newest version.
type Group struct {
	Latest   Version
	Versions int64
	Schema   PartitionSchema
	// LatestTimePartition is nil without one.
	LatestTimePartition *time.Time
	// LatestPartitions are the encoded core.Partitions of the latest time partition, newest first, at most 16.
	LatestPartitions [][]byte
}

// latestPartitions is an array of the partitions of the latest time partition of a name n. The two branches have an index
// each; names without a time partition take the second.
var latestPartitions = fmt.Sprintf(`ARRAY(
	(SELECT p.partitions FROM artifact_versions p WHERE p.name_id = n.id AND p.time_partition = n.latest_time_partition AND p.newest
		AND p.partitions IS NOT NULL ORDER BY p.created_at DESC, p.id DESC LIMIT %[1]d)
	UNION ALL
	(SELECT p.partitions FROM artifact_versions p WHERE n.latest_time_partition IS NULL AND p.name_id = n.id AND p.newest
		AND p.partitions IS NOT NULL ORDER BY p.created_at DESC, p.id DESC LIMIT %[1]d))`, maxLatestPartitions)

// ListNames reads a page of the names that have versions, newest activity first.
func (s *Store) ListNames(ctx context.Context, place Place, request *common.ListRequest) ([]Group, string, error) {
	var b listquery.Builder
	b.Equal("n.project", place.Project)
	b.Equal("n.domain", place.Domain)
	b.Where("n.versions > 0")
	query, err := nameFields.Compile(b, []string{"artifact names", place.Project, place.Domain}, request)
	if err != nil {
		return nil, "", err
	}
	page := "SELECT n.*, " + query.Keys() + " AS keys FROM artifact_names n" + query.Tail()
	rows, err := s.pool.Query(ctx, `SELECT `+versionColumns+`, n.versions, n.time_key, n.granularity, n.partition_keys, n.latest_time_partition, n.keys,
			`+latestPartitions+`
		FROM (`+page+`) n JOIN artifact_versions v ON v.id = n.latest_id
		ORDER BY `+query.OrderBy(), query.Args()...)
	if err != nil {
		return nil, "", fmt.Errorf("list artifact names: %w", err)
	}
	type keyed struct {
		Group
		keys []string
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (keyed, error) {
		var k keyed
		return k, row.Scan(append(k.Latest.targets(), &k.Versions, &k.Schema.TimeKey, &k.Schema.Granularity, &k.Schema.Keys,
			&k.LatestTimePartition, &k.keys, &k.LatestPartitions)...)
	})
	if err != nil {
		return nil, "", fmt.Errorf("list artifact names: %w", err)
	}
	list, token := listquery.Page(query, list, func(k keyed) []string { return k.keys })
	return column(list, func(k keyed) Group { return k.Group }), token, nil
}

// MetadataKeys lists the keys of metadata in use, in order; of one name, or of all when it is empty. It skips from one key
// to the next in an index.
func (s *Store) MetadataKeys(ctx context.Context, place Place, name string, limit int) ([]string, error) {
	within, args, err := s.labelsOf(ctx, place, name)
	if err != nil || within == "" {
		return nil, err
	}
	kind := fmt.Sprintf("l.kind = $%d", len(args)+1)
	query := fmt.Sprintf(`
		WITH RECURSIVE hop AS (
			(SELECT l.key FROM artifact_labels l WHERE %[1]s AND %[2]s ORDER BY l.key LIMIT 1)
			UNION ALL
			SELECT (SELECT l.key FROM artifact_labels l WHERE %[1]s AND %[2]s AND l.key > hop.key ORDER BY l.key LIMIT 1) FROM hop WHERE hop.key IS NOT NULL
		)
		SELECT key FROM hop WHERE key IS NOT NULL LIMIT $%[3]d`, within, kind, len(args)+2)
	return texts(s.pool.Query(ctx, query, append(args, int16(LabelMetadata), limit)...))
}

func (s *Store) labelsOf(ctx context.Context, place Place, name string) (within string, args []any, err error) {
	if name == "" {
		return "l.project = $1 AND l.domain = $2", []any{place.Project, place.Domain}, nil
	}
	id, err := nameID(ctx, s.pool, Name{place.Project, place.Domain, name}, "")
	if isNone(err) {
		return "", nil, nil
	}
	return "l.name_id = $1", []any{id}, err
}

// PartitionValues lists the values that a key takes among the versions of a name that the filters select: the values of a
// key in order, the times of the time partition as RFC 3339 texts, latest first. It returns NotFound for a name or a key
// that does not exist.
func (s *Store) PartitionValues(ctx context.Context, name Name, key string, filters []*common.Filter, limit int) ([]string, error) {
	schema, err := s.Schema(ctx, name)
	if err != nil {
		return nil, err
	}
	if schema == nil {
		return nil, rpc.NotFound("artifact %s does not exist in project %s and domain %s", name.Name, name.Project, name.Domain)
	}
	id, err := nameID(ctx, s.pool, name, "")
	if err != nil {
		return nil, fmt.Errorf("list partition values: %w", err)
	}
	if len(filters) > 0 {
		return s.filteredValues(ctx, id, name, schema, key, filters, limit)
	}
	if key == schema.TimeKey {
		return texts(s.pool.Query(ctx, `
			WITH RECURSIVE hop AS (
				(SELECT v.time_partition AS at FROM artifact_versions v WHERE v.name_id = $1 AND v.time_partition IS NOT NULL ORDER BY v.time_partition DESC LIMIT 1)
				UNION ALL
				SELECT (SELECT v.time_partition FROM artifact_versions v WHERE v.name_id = $1 AND v.time_partition < hop.at ORDER BY v.time_partition DESC LIMIT 1)
				FROM hop WHERE hop.at IS NOT NULL
			)
			SELECT `+rfc3339("at")+` FROM hop WHERE at IS NOT NULL LIMIT $2`, id, limit))
	}
	return texts(s.pool.Query(ctx, `
		WITH RECURSIVE hop AS (
			(SELECT l.value FROM artifact_labels l WHERE l.name_id = $1 AND l.kind = $3 AND l.key = $2 ORDER BY l.value LIMIT 1)
			UNION ALL
			SELECT (SELECT l.value FROM artifact_labels l WHERE l.name_id = $1 AND l.kind = $3 AND l.key = $2 AND l.value > hop.value ORDER BY l.value LIMIT 1)
			FROM hop WHERE hop.value IS NOT NULL
		)
		SELECT value FROM hop WHERE value IS NOT NULL LIMIT $4`, id, key, int16(LabelPartition), limit))
}

// filteredValues looks at the newest version of each partition that the filters select.
func (s *Store) filteredValues(
	ctx context.Context, id int64, name Name, schema *Fixed, key string, wanted []*common.Filter, limit int,
) ([]string, error) {
	var b listquery.Builder
	b.Where("v.newest")
	b.Where("v.name_id = " + b.Arg(id, "bigint"))
	fields := versionFields("v.")
	fields.Extra = func(b *listquery.Builder, at string, filter *common.Filter) (bool, error) {
		return ofVersion(b, at, labelScope{Place{name.Project, name.Domain}, id, ofOneTime(wanted)}, filter)
	}
	if err := fields.Filter(&b, wanted); err != nil {
		return nil, err
	}
	if key == schema.TimeKey {
		b.Where("v.time_partition IS NOT NULL")
		return texts(s.pool.Query(ctx, "SELECT "+rfc3339("at")+" FROM (SELECT DISTINCT v.time_partition AS at FROM artifact_versions v WHERE "+
			b.Conditions()+" ORDER BY 1 DESC LIMIT "+b.Arg(limit, "bigint")+") t", b.Args()...))
	}
	b.Where("l.kind = " + b.Arg(int16(LabelPartition), "smallint"))
	b.Where("l.key = " + b.Arg(key, "text"))
	return texts(s.pool.Query(ctx, "SELECT DISTINCT l.value FROM artifact_versions v JOIN artifact_labels l ON l.version_id = v.id WHERE "+
		b.Conditions()+" ORDER BY 1 LIMIT "+b.Arg(limit, "bigint"), b.Args()...))
}

func rfc3339(column string) string {
	return `to_char(` + column + ` AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`
}

func texts(rows pgx.Rows, err error) ([]string, error) {
	if err != nil {
		return nil, fmt.Errorf("list values: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("list values: %w", err)
	}
	return found, nil
}

func isNone(err error) bool { return errors.Is(err, pgx.ErrNoRows) }
