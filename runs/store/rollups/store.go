package rollups

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// Store reads and writes roll-ups.
type Store struct{ pool *pgxpool.Pool }

// New returns a store on a pool that the caller owns.
func New(pool *pgxpool.Pool) *Store { return &Store{pool: pool} }

// change runs a transaction that changes roll-ups. Such transactions run one after the other, so that what one has read does not
// change before it writes. Readers do not wait.
func (s *Store) change(ctx context.Context, do func(tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `LOCK TABLE use_rates IN SHARE ROW EXCLUSIVE MODE`); err != nil {
			return fmt.Errorf("lock roll-ups: %w", err)
		}
		return do(tx)
	})
}

// Task names a task of a place.
type Task struct {
	schema.Scope
	Name string
}

// Use are amounts for a time.
type Use struct {
	CPU    int64 // thousandths of a core, for seconds
	Memory int64 // MiB, for seconds
	GPU    int64 // thousandths of a GPU, for seconds
}

// Plus is the sum.
func (u Use) Plus(o Use) Use { return Use{u.CPU + o.CPU, u.Memory + o.Memory, u.GPU + o.GPU} }

// Rate is what one price applies to.
type Rate struct{ Cluster, Queue, Accelerator string }

// Priced is use at a rate.
type Priced struct {
	Rate Rate
	Use  Use
}

// Prices weigh use, to order by it.
type Prices struct {
	// ID is that of the prices in the database; see PricesID.
	ID int32
	// Weigh is the cost in millionths of the currency. Without prices it is the processor time.
	Weigh func([]Priced) int64
}

// PricesID is the id of prices by their digest. It is larger than that of all that were in force before.
func (s *Store) PricesID(ctx context.Context, digest []byte) (id int32, err error) {
	err = s.change(ctx, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `SELECT id FROM use_prices WHERE digest = $1 AND id = (SELECT max(id) FROM use_prices)`, digest).Scan(&id)
		if err == nil || err != pgx.ErrNoRows { //nolint:errorlint // as QueryRow returns it
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM use_prices WHERE digest = $1`, digest); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `INSERT INTO use_prices (digest) VALUES ($1) RETURNING id`, digest).Scan(&id)
	})
	if err != nil {
		return 0, fmt.Errorf("store the prices: %w", err)
	}
	return id, nil
}

// Day is the day of a time, in UTC.
func Day(at time.Time) time.Time { return at.UTC().Truncate(24 * time.Hour) }
