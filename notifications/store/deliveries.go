package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// The states of deliveries, as insight.v1.DeliveryState.
const (
	Pending   = int16(insightv1.DeliveryState_DELIVERY_STATE_PENDING)
	Delivered = int16(insightv1.DeliveryState_DELIVERY_STATE_DELIVERED)
	Dead      = int16(insightv1.DeliveryState_DELIVERY_STATE_DEAD)
)

// The same in statements.
const (
	sqlPending   = string(rune('0' + Pending))
	sqlDelivered = string(rune('0' + Delivered))
	sqlDead      = string(rune('0' + Dead))
)

// Delivery is a row. The schema says what its fields mean.
type Delivery struct {
	ID        int64
	Key       string
	Source    int64
	Part      int32
	RunID     int64
	Run       ident.Run
	Action    string
	Phase     int16
	Rule      string
	Delivery  string
	Kind      int16
	Target    string
	Recipient string
	Lane      string
	Template  []byte
	Data      []byte // JSON
	State     int16
	Tries     int
	NextAt    time.Time
	LastError string
	CreatedAt time.Time
	EndedAt   *time.Time
}

const columns = `d.id, d.key, d.source, d.part, d.run_id, d.project, d.domain, d.run_name, d.action, d.phase, d.rule, d.delivery, d.kind,
	d.target, d.recipient, d.lane, d.template, d.data, d.state, d.tries, d.next_at, d.last_error, d.created_at, d.ended_at`

func (d *Delivery) targets() []any {
	return []any{
		&d.ID, &d.Key, &d.Source, &d.Part, &d.RunID, &d.Run.Project, &d.Run.Domain, &d.Run.Name, &d.Action, &d.Phase, &d.Rule, &d.Delivery, &d.Kind,
		&d.Target, &d.Recipient, &d.Lane, &d.Template, &d.Data, &d.State, &d.Tries, &d.NextAt, &d.LastError, &d.CreatedAt, &d.EndedAt,
	}
}

func scan(row pgx.CollectableRow) (Delivery, error) {
	var d Delivery
	return d, row.Scan(d.targets()...)
}

// Store is the table of deliveries.
type Store struct{ pool *pgxpool.Pool }

// New returns a store on a pool that the caller owns.
func New(pool *pgxpool.Pool) *Store { return &Store{pool: pool} }

// Add stores deliveries that are due at once, unless they are stored already: an entry of the outbox may be read twice.
func (s *Store) Add(ctx context.Context, list []Delivery) error {
	const insert = `
		INSERT INTO notification_deliveries (key, source, part, run_id, project, domain, run_name, action, phase, rule, delivery, kind, target,
			recipient, lane, template, data, state, next_at, last_error, created_at, ended_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $19, $21)
		ON CONFLICT (source, part) DO NOTHING`
	if len(list) == 0 {
		return nil
	}
	var statements pgx.Batch
	for _, d := range list {
		statements.Queue(insert, d.Key, d.Source, d.Part, d.RunID, d.Run.Project, d.Run.Domain, d.Run.Name, d.Action, d.Phase, d.Rule, d.Delivery,
			d.Kind, d.Target, d.Recipient, d.Lane, d.Template, d.Data, Pending, d.CreatedAt, "", nil)
	}
	if err := s.pool.SendBatch(ctx, &statements).Close(); err != nil {
		return fmt.Errorf("store deliveries: %w", err)
	}
	return nil
}

// Place is a due delivery that has not been claimed.
type Place struct {
	ID   int64
	Lane string
}

// Due lists due deliveries outside of some lanes, longest due first. One that waits for longer than the longest pause is
// due, too: it was postponed before the clock was set back.
func (s *Store) Due(ctx context.Context, now time.Time, longest time.Duration, without []string, limit int) ([]Place, error) {
	const query = `
		SELECT id, lane FROM notification_deliveries
		WHERE state = ` + sqlPending + ` AND (next_at <= $1 OR next_at > $2) AND NOT lane = ANY($3::text[]) ORDER BY next_at, id LIMIT $4`
	rows, err := s.pool.Query(ctx, query, now, now.Add(longest), without, limit)
	if err != nil {
		return nil, fmt.Errorf("read due deliveries: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Place])
	if err != nil {
		return nil, fmt.Errorf("read due deliveries: %w", err)
	}
	return found, nil
}

// Claim takes those of the deliveries that are still due, until a time. No other replica tries them until then.
func (s *Store) Claim(ctx context.Context, ids []int64, now time.Time, longest time.Duration, until time.Time) ([]Delivery, error) {
	const query = `
		UPDATE notification_deliveries d SET next_at = $4
		WHERE d.state = ` + sqlPending + ` AND (d.next_at <= $2 OR d.next_at > $3) AND d.id = ANY(ARRAY(
			SELECT id FROM notification_deliveries WHERE id = ANY($1) ORDER BY id FOR UPDATE SKIP LOCKED))
		RETURNING ` + columns
	rows, err := s.pool.Query(ctx, query, ids, now, now.Add(longest), until)
	if err != nil {
		return nil, fmt.Errorf("claim deliveries: %w", err)
	}
	claimed, err := pgx.CollectRows(rows, scan)
	if err != nil {
		return nil, fmt.Errorf("claim deliveries: %w", err)
	}
	return claimed, nil
}

// Succeed records that the receiver took a delivery.
func (s *Store) Succeed(ctx context.Context, d *Delivery, now time.Time) error {
	return s.change(ctx, `UPDATE notification_deliveries SET state = `+sqlDelivered+`, tries = $2, last_error = '', ended_at = $3 WHERE id = $1`, d.ID, d.Tries, now)
}

// Postpone records a failed try and when to try again.
func (s *Store) Postpone(ctx context.Context, d *Delivery, next time.Time) error {
	return s.change(ctx, `UPDATE notification_deliveries SET tries = $2, next_at = $3, last_error = $4 WHERE id = $1 AND state = `+sqlPending,
		d.ID, d.Tries, next, d.LastError)
}

// GiveUp records the last failed try.
func (s *Store) GiveUp(ctx context.Context, d *Delivery, now time.Time) error {
	return s.change(ctx, `UPDATE notification_deliveries SET state = `+sqlDead+`, tries = $2, ended_at = $3, last_error = $4 WHERE id = $1 AND state = `+sqlPending,
		d.ID, d.Tries, now, d.LastError)
}

func (s *Store) change(ctx context.Context, query string, args ...any) error {
	if _, err := s.pool.Exec(ctx, query, args...); err != nil {
		return fmt.Errorf("record a delivery: %w", err)
	}
	return nil
}

// Retry makes a delivery due now. One that was given up starts again. It returns NotFound when the run has no such
// delivery, and FailedPrecondition when it was delivered.
func (s *Store) Retry(ctx context.Context, run ident.Run, key string, now time.Time) (*Delivery, error) {
	const query = `
		UPDATE notification_deliveries d SET
			next_at = CASE WHEN state = ` + sqlDead + ` OR tries > 0 THEN $5 ELSE next_at END, tries = CASE WHEN state = ` + sqlDead + ` THEN 0 ELSE tries END,
			state = ` + sqlPending + `, ended_at = NULL
		WHERE d.project = $1 AND d.domain = $2 AND d.run_name = $3 AND d.key = $4 AND d.state <> ` + sqlDelivered + ` RETURNING ` + columns
	var found Delivery
	err := pgdb.Change(ctx, s.pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, query, run.Project, run.Domain, run.Name, key, now)
		if err != nil {
			return err
		}
		found, err = pgx.CollectExactlyOneRow(rows, scan)
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, s.refusal(ctx, run, key)
	}
	if err != nil {
		return nil, fmt.Errorf("retry a delivery: %w", err)
	}
	return &found, nil
}

func (s *Store) refusal(ctx context.Context, run ident.Run, key string) error {
	var there bool
	err := s.pool.QueryRow(ctx, `SELECT count(*) > 0 FROM notification_deliveries WHERE project = $1 AND domain = $2 AND run_name = $3 AND key = $4`,
		run.Project, run.Domain, run.Name, key).Scan(&there)
	switch {
	case err != nil:
		return fmt.Errorf("retry a delivery: %w", err)
	case there:
		return rpc.FailedPrecondition("notification %s was already delivered", key)
	}
	return rpc.NotFound("run %s has no notification %s", run, key)
}

// Collect deletes up to limit deliveries that ended before a time, by state, and returns how many.
func (s *Store) Collect(ctx context.Context, state int16, before time.Time, limit int) (int, error) {
	tag, err := s.pool.Exec(ctx, `
		DELETE FROM notification_deliveries WHERE id = ANY(ARRAY(
			SELECT id FROM notification_deliveries WHERE state = $1 AND state <> `+sqlPending+` AND ended_at < $2 ORDER BY ended_at LIMIT $3))`, state, before, limit)
	if err != nil {
		return 0, fmt.Errorf("delete old deliveries: %w", err)
	}
	return int(tag.RowsAffected()), nil
}

// Counts are the sizes of the lists.
type Counts struct {
	Pending, Dead int64
	// Oldest is when the oldest pending delivery was created; nil when there is none.
	Oldest *time.Time
}

// Count counts deliveries that are not delivered.
func (s *Store) Count(ctx context.Context) (Counts, error) {
	var c Counts
	err := s.pool.QueryRow(ctx, `
		SELECT count(*) FILTER (WHERE state = `+sqlPending+`), count(*) FILTER (WHERE state = `+sqlDead+`), min(created_at) FILTER (WHERE state = `+sqlPending+`)
		FROM notification_deliveries WHERE state IN (`+sqlPending+`, `+sqlDead+`)`).Scan(&c.Pending, &c.Dead, &c.Oldest)
	if err != nil {
		return c, fmt.Errorf("count deliveries: %w", err)
	}
	return c, nil
}
