package worklists

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// QueueReader reads what admission decides on: the queued task actions and the current load.
type QueueReader struct{ pool *pgxpool.Pool }

// NewQueueReader returns a reader on a pool that the caller owns.
func NewQueueReader(pool *pgxpool.Pool) *QueueReader { return &QueueReader{pool: pool} }

// The orders that only the partial indexes have.
const (
	childrenInOrder = ` ORDER BY a.queue, a.runner, (-a.priority), a.project, a.run_id, a.id `
	rootsInOrder    = ` ORDER BY a.queue, a.runner, (-a.priority), a.project, a.created_by_subject, a.id `
	// maxID is above every id, in the comparisons of rows that end the range of a group.
	maxID = `9223372036854775807`
)

// Waiting is a group of queued actions that differ only in age: children of one run, or the roots of one person in one
// project.
type Waiting struct {
	Queue    string // as stored, which may not be the name of a queue
	Root     bool
	Runner   schema.Runner
	Priority int32
	// Project and Person have the run: whose turn it is when they compete.
	Project, Person string
	RunID           int64 // 0 for roots, each of which is a run of its own
	RunLimit        int32 // the run's largest number of concurrent actions; 0 means no limit
	// IDs are the oldest actions of the group, oldest first. Backlog fills them in for roots, Members for children.
	IDs []int64
	// More says that the group has more actions than IDs.
	More bool
}

// Backlog is the queued actions and the size of the live set.
type Backlog struct {
	Waiting []Waiting
	// Live counts the live actions that run on clusters.
	Live int
	// Truncated says that more groups wait than were read.
	Truncated bool
}

// send reads in one round trip and one transaction whose statements must use the partial indexes, whatever statistics
// the planner has.
func (q *QueueReader) send(ctx context.Context, queue func(*pgx.Batch)) error {
	var statements pgx.Batch
	statements.Queue(sqltext.Planning)
	queue(&statements)
	return q.pool.SendBatch(ctx, &statements).Close()
}
