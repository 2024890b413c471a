package watch

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"time"

	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/watches"
)

// fingerprint hashes the fields of an action that clients see; it is never 0. A root row changes with every event of
// its run, mostly in fields that are not shown.
func fingerprint(a *schema.Action) uint64 {
	hash := fnv.New64a()
	var number [8]byte
	put := func(n int64) {
		binary.LittleEndian.PutUint64(number[:], uint64(n)) //nolint:gosec // any bits will do
		hash.Write(number[:])
	}
	moment := func(t *time.Time) {
		if t == nil {
			put(0)
			return
		}
		// the precision of the database
		put(t.UnixMicro())
	}
	put(int64(a.Phase))
	put(int64(a.Attempt))
	put(int64(a.CacheStatus))
	moment(a.StartedAt)
	moment(a.EndedAt)
	if sum := hash.Sum64(); sum != 0 {
		return sum
	}
	return 1
}

// updatedReader reads runs by their last update.
type updatedReader interface {
	UpdatedRoots(ctx context.Context, scope schema.Scope, after watches.UpdatedKey, limit int) ([]*lists.Listed, error)
}

// eachUpdated visits, page by page, the runs of a scope that were updated after a time.
func eachUpdated(ctx context.Context, reader updatedReader, scope schema.Scope, since time.Time, visit func([]*lists.Listed) error) error {
	after := watches.UpdatedKey{UpdatedAt: since}
	for {
		rows, err := reader.UpdatedRoots(ctx, scope, after, rootsPerRead)
		if err != nil {
			return err
		}
		if err := visit(rows); err != nil {
			return err
		}
		if len(rows) < rootsPerRead {
			return nil
		}
		last := rows[len(rows)-1]
		after = watches.UpdatedKey{UpdatedAt: last.UpdatedAt, ID: last.ID}
	}
}
