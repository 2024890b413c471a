// Package store keeps pools, workers and the actions that they run in Postgres. All times are the database's. It decides
// nothing but who holds what; it serves workers.
package store

import (
	"context"
	"embed"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/pools/size"
)

const (
	// LeaseTable is the table of the service's leases.
	LeaseTable = "worker_leases"
	// Channel is where changes are announced; the payload is an Audience and the id of the pool.
	Channel = "flyte_workers"
)

// Audience says whom a change concerns.
type Audience string

// The audiences. The keeper is notified of all changes.
const (
	ForKeeper Audience = "k" // the size of the pool may change
	ForWork   Audience = "n" // there is new work, for as many sessions
	ForWorker Audience = "w" // one worker, or all of a pool, should do something else
	ForFleets Audience = "f" // other workers should run
)

// Change is an announcement on Channel. It is text: audience, pool, and after a slash how much work is new, or the worker.
type Change struct {
	To   Audience
	Pool int64
	// Work is how many actions are new.
	Work int
	// Worker is who should look at its work; empty means all of the pool.
	Worker string
}

func (c Change) String() string {
	text := string(c.To) + strconv.FormatInt(c.Pool, 10)
	switch {
	case c.Work > 0:
		text += "/" + strconv.Itoa(c.Work)
	case c.Worker != "":
		text += "/" + c.Worker
	}
	return text
}

// ParseChange reads what String wrote.
func ParseChange(text string) (c Change, ok bool) {
	if text == "" {
		return c, false
	}
	id, detail, _ := strings.Cut(text[1:], "/")
	n, err := strconv.ParseInt(id, 10, 64)
	c = Change{To: Audience(text[:1]), Pool: n}
	switch c.To {
	case ForKeeper, ForFleets:
	case ForWorker:
		c.Worker = detail
	case ForWork:
		work, bad := strconv.Atoi(detail)
		if c.Work = work; bad != nil || work < 1 {
			return c, false
		}
	default:
		return c, false
	}
	return c, err == nil
}

//go:embed migrations/*.sql
var migrations embed.FS

// Schema is the service's tables.
func Schema() pgdb.Schema { return pgdb.Embedded("workers", migrations) }

// Store reads and writes pools.
type Store struct{ db *pgxpool.Pool }

// New returns a store on a connection pool that the caller owns.
func New(db *pgxpool.Pool) *Store { return &Store{db: db} }

// WorkerState says what a worker may do.
type WorkerState int16

// The states. A worker goes only forwards.
const (
	Starting WorkerState = 1 // it has not connected
	Live     WorkerState = 2 // it gets work
	Draining WorkerState = 3 // it ends what it has
	Gone     WorkerState = 4 // it has ended, or its lease has
)

// Stop says why an attempt should end.
type Stop int16

// The reasons.
const (
	NoStop   Stop = 0
	Released Stop = 1 // the action has ended otherwise
	Overtime Stop = 2 // it exceeds its time limit
	Written  Stop = 3 // it has written its outcome, and its process continues; of a session alone, not in the database
)

// Enum values as literals for SQL text.
const (
	sqlStarting = "1"
	sqlLive     = "2"
	sqlDraining = "3"
	sqlGone     = "4"
	sqlNoStop   = "0"
	sqlReleased = "1"
	sqlOvertime = "2"
)

// Action is a row of pool_actions.
type Action struct {
	UID  int64
	Pool int64
	// Cluster is that of the pool.
	Cluster        string
	Action         ident.Action
	Ancestors      []string
	Nested         bool
	Priority       int32
	QueuedAt       time.Time
	Attempt        int32
	UserFailures   int32
	SystemFailures int32
	NotBefore      *time.Time
	// Worker has the attempt; empty while it waits.
	Worker  string
	Offered time.Time
	Claimed *time.Time
	BegunAt *time.Time
	Start   Start
	Stop    Stop
}

// Start is how the process of an attempt has begun.
type Start struct {
	Warm bool   // in a process that had the environment loaded
	Slow string // why it had to load the environment or its code itself; empty if it found them loaded
}

const actionColumns = `a.uid, a.pool_id, a.project, a.domain, a.run, a.name, a.ancestors, a.nested, a.priority, a.queued_at, a.attempt,
	a.user_failures, a.system_failures, a.not_before, coalesce(a.worker_id, ''), coalesce(a.offered_at, a.queued_at), a.claimed_at, a.begun_at, a.warm, a.slow_start, a.stop,
	(SELECT c.cluster FROM worker_pools c WHERE c.id = a.pool_id)`

func scanAction(row pgx.CollectableRow) (Action, error) {
	var a Action
	return a, row.Scan(a.targets()...)
}

// targets are the places of actionColumns.
func (a *Action) targets() []any {
	return []any{
		&a.UID, &a.Pool, &a.Action.Run.Project, &a.Action.Run.Domain, &a.Action.Run.Name, &a.Action.Name, &a.Ancestors,
		&a.Nested, &a.Priority, &a.QueuedAt, &a.Attempt, &a.UserFailures, &a.SystemFailures, &a.NotBefore, &a.Worker, &a.Offered, &a.Claimed, &a.BegunAt, &a.Start.Warm, &a.Start.Slow, &a.Stop, &a.Cluster,
	}
}

// Worker is a row of pool_workers.
type Worker struct {
	ID    string
	Pool  int64
	State WorkerState
	// Session is the stream that may give it work.
	Session string
	Reason  string
	// Slots is how many attempts it takes at a time: its own number, and at most the concurrency of its pool.
	Slots int
	// Reserve says that it takes only actions that a running action waits for.
	Reserve bool
}

// executor is a connection pool or a transaction.
type executor interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// list runs a query for actions.
func list(ctx context.Context, db executor, query string, args ...any) ([]Action, error) {
	rows, err := db.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanAction)
}

// notify tells all replicas of a change. It belongs to a transaction.
func notify(ctx context.Context, tx pgx.Tx, c Change) error {
	if _, err := tx.Exec(ctx, `SELECT pg_notify($1, $2)`, Channel, c.String()); err != nil {
		return fmt.Errorf("notify: %w", err)
	}
	return nil
}

func changes(to Audience, pools []int64) []Change {
	var all []Change
	for _, id := range pools {
		all = append(all, Change{To: to, Pool: id})
	}
	return all
}

// inTx runs a change and announces what it returns.
func (s *Store) inTx(ctx context.Context, what string, do func(pgx.Tx) ([]Change, error)) error {
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		found, err := do(tx)
		if err != nil {
			return err
		}
		for _, c := range found {
			if err := notify(ctx, tx, c); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// pools runs a statement that returns ids of pools, each once or more.
func pools(ctx context.Context, tx pgx.Tx, query string, args ...any) ([]int64, error) {
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	seen := map[int64]bool{}
	var once []int64
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			once = append(once, id)
		}
	}
	return once, err
}

// Offered is an action for a pool.
type Offered struct {
	Action
	Key    size.Key
	Policy size.Policy
	// Begun says that the attempt was begun by someone who is gone: no one gets it meanwhile.
	Begun bool
}
