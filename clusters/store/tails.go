package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/flyte-binary/flyte-binary/clusters/states"
)

// TailChannel is the channel of Postgres on which orders for links and batches of logs are announced.
const TailChannel = "cluster_tails"

const (
	// foreignKeyViolation is the code of Postgres for a row whose parent is gone.
	foreignKeyViolation = "23503"
	// maxBatches is how many batches of one log may be in the table.
	maxBatches = 4
	// leftFor is how long a log stays whose replica of the API ended without closing it.
	leftFor = 2 * time.Minute
)

// Beat records that a replica of a controller was heard, and what its nodes have unless nodes is nil. It fails with ErrNone if this is not
// the latest link of the replica.
func (s *Store) Beat(ctx context.Context, cluster, instance, link string, nodes *Nodes) error {
	set, args := "", []any{cluster, instance, link}
	if nodes != nil {
		set = ", accelerators = $4, capacity = $5, free = $6, largest = $7"
		args = append(args, list(nodes.Accelerators), amounts(nodes.Capacity), amounts(nodes.Free), amounts(nodes.Largest))
	}
	done, err := s.pool.Exec(ctx, `UPDATE cluster_states SET seen_at = now()`+set+` WHERE cluster = $1 AND instance = $2 AND link = $3`, args...)
	if err != nil {
		return fmt.Errorf("record a beat of cluster %s: %w", cluster, err)
	}
	if done.RowsAffected() == 0 {
		return ErrNone
	}
	return nil
}

// LinkOf is the link of a cluster that was heard last. It fails with ErrNone if none was heard lately.
func (s *Store) LinkOf(ctx context.Context, cluster string) (link string, err error) {
	err = s.pool.QueryRow(ctx, `SELECT link FROM cluster_states WHERE cluster = $1 AND seen_at > now() - $2::interval ORDER BY seen_at DESC LIMIT 1`,
		cluster, states.Silence).Scan(&link)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", ErrNone
	}
	if err != nil {
		return "", fmt.Errorf("find the link of cluster %s: %w", cluster, err)
	}
	return link, nil
}

// OpenTail notes that a log of a cluster is read, and removes what is left of others.
func (s *Store) OpenTail(ctx context.Context, id, cluster string) error {
	return s.exec(ctx, "open a log", `WITH left_over AS (DELETE FROM cluster_tails WHERE touched_at < now() - $3::interval)
		INSERT INTO cluster_tails (id, cluster, touched_at) VALUES ($1, $2, now())`, id, cluster, leftFor)
}

// TouchTail notes that a log is still read.
func (s *Store) TouchTail(ctx context.Context, id string) error {
	return s.exec(ctx, "keep a log", `UPDATE cluster_tails SET touched_at = now() WHERE id = $1`, id)
}

// CloseTail removes a log with its batches.
func (s *Store) CloseTail(ctx context.Context, id string) error {
	return s.exec(ctx, "close a log", `DELETE FROM cluster_tails WHERE id = $1`, id)
}

// NotifyTail sends a text to all replicas.
func (s *Store) NotifyTail(ctx context.Context, text string) error {
	return s.exec(ctx, "announce a log", `SELECT pg_notify('`+TailChannel+`', $1)`, text)
}

// ForgetBatches removes the batches of a log before a sequence.
func (s *Store) ForgetBatches(ctx context.Context, id string, before int64) error {
	return s.exec(ctx, "remove batches of a log", `DELETE FROM cluster_tail_batches WHERE tail = $1 AND sequence < $2`, id, before)
}

func (s *Store) exec(ctx context.Context, what, statement string, args ...any) error {
	if _, err := s.pool.Exec(ctx, statement, args...); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// TailBatches reads the batches of a log, in order.
func (s *Store) TailBatches(ctx context.Context, id string) ([][]byte, error) {
	rows, err := s.pool.Query(ctx, `SELECT body FROM cluster_tail_batches WHERE tail = $1 ORDER BY sequence`, id)
	if err != nil {
		return nil, fmt.Errorf("read batches of a log: %w", err)
	}
	batches, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil {
		return nil, fmt.Errorf("read batches of a log: %w", err)
	}
	return batches, nil
}

// Result is the result of PutBatch.
type Result int

// The results.
const (
	Put    Result = iota // it is in the table, perhaps since an earlier call
	Full                 // there are as many batches as there may be
	NoTail               // no such log of the cluster is read
)

// PutBatch stores a batch of a log of a cluster.
func (s *Store) PutBatch(ctx context.Context, id, cluster string, sequence int64, body []byte) (Result, error) {
	var known, put, there bool
	err := s.pool.QueryRow(ctx, `WITH
		known AS (SELECT id FROM cluster_tails WHERE id = $1 AND cluster = $2),
		there AS (SELECT count(*) AS batches, count(*) FILTER (WHERE sequence = $3) AS same FROM cluster_tail_batches WHERE tail = $1),
		put AS (INSERT INTO cluster_tail_batches (tail, sequence, body)
			SELECT known.id, $3, $4 FROM known, there WHERE there.batches < $5 ON CONFLICT DO NOTHING RETURNING tail)
		SELECT EXISTS (SELECT FROM known), EXISTS (SELECT FROM put), (SELECT same > 0 FROM there)`, id, cluster, sequence, body, maxBatches).
		Scan(&known, &put, &there)
	var refused *pgconn.PgError
	switch {
	case errors.As(err, &refused) && refused.Code == foreignKeyViolation:
		return NoTail, nil // it was closed meanwhile
	case err != nil:
		return 0, fmt.Errorf("store a batch of a log: %w", err)
	case !known:
		return NoTail, nil
	case put, there:
		return Put, nil
	}
	return Full, nil
}
