// Package queries answers queries of the language of runs/query from the rows of root actions. Each answer looks at a limited
// number of rows, in the order of an index, however many there are and however few match.
package queries

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/runs/query"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// Looked is how many runs an answer looks at, at most. Of failed runs whose errors are searched, it looks at a quarter, and at half in an
// order that no index has: reading an error of some KiB takes longer than all else.
const (
	Looked           = 4000
	errorsPart       = 4
	sortedErrorsPart = 2
)

// MaxLimit is the longest page of an answer.
const MaxLimit = 500

// Order is an order of runs.
type Order struct {
	Field string
	Desc  bool
}

// The orders.
var (
	Newest   = Order{"created_at", true}
	Oldest   = Order{"created_at", false}
	Updated  = Order{"updated_at", true}
	Longest  = Order{"duration_ms", true}
	Shortest = Order{"duration_ms", false}
)

// Ask is a query and what it is asked of.
type Ask struct {
	Scope schema.Scope
	Query *query.Node
	// Text is the query as typed; tokens are good for the same text.
	Text  string
	Order Order
	Limit uint32
	Token string
	// Now is what relative times count from, Me the subject of the caller.
	Now time.Time
	Me  string
	// Untriggered leaves out the runs of triggers.
	Untriggered bool
}

// Sorted reports whether no index has the runs in the order: the newest runs that the conditions leave are sorted. In the order of
// updates, the runs that were created before a time may come after a million others. An index has the durations of all runs; but few of
// the longest may meet a condition, so it serves only a query without any.
func (a *Ask) Sorted() bool {
	switch a.Order {
	case Longest, Shortest:
		return a.Untriggered || len(a.Query.All()) > 0
	case Updated:
		return endsCreation(a.Query)
	default:
		return false
	}
}

// Page is a part of an answer.
type Page struct {
	Runs []Found
	// Token is that of the next page; empty at the end.
	Token string
	// Until is set if the page ends because as many runs as allowed were looked at: when the last of them was created.
	Until time.Time
	// Bounded is whether the order is that of the newest runs only: no index has it.
	Bounded bool
}

// Found is a run with the token of what comes after it.
type Found struct {
	schema.Action
	Labels map[string]string
	After  string
	keys   []string
}

// Reader answers queries.
type Reader struct {
	pool   *pgxpool.Pool
	looked int
}

// NewReader returns a reader on a pool that the caller owns.
func NewReader(pool *pgxpool.Pool) *Reader { return &Reader{pool: pool, looked: Looked} }

// NewReaderOf is NewReader with another number of runs that an answer looks at.
func NewReaderOf(pool *pgxpool.Pool, looked int) *Reader { return &Reader{pool: pool, looked: looked} }

// Find reads a page of the runs that match.
func (r *Reader) Find(ctx context.Context, ask Ask) (*Page, error) {
	q, err := ask.compile()
	if err != nil {
		return nil, err
	}
	page := &Page{}
	err = sqltext.Snapshot(ctx, r.pool, func(tx pgx.Tx) error {
		if err := sqltext.InOrder(ctx, tx); err != nil {
			return err
		}
		walk := r.walk(&ask, q)
		if page.Runs, err = walk.read(ctx, tx, walk.source()); err != nil || len(page.Runs) > q.Limit {
			return err
		}
		last, err := walk.last(ctx, tx)
		if err != nil || last == nil {
			return err
		}
		if walk.sorted {
			page.Bounded = true
			return nil
		}
		if source, ok, err := walk.labelled(ctx, tx); err != nil || ok {
			if ok {
				page.Runs, err = walk.read(ctx, tx, source)
			}
			return err
		}
		page.Token, page.Until = q.Token(last.keys), last.CreatedAt
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find runs: %w", err)
	}
	if len(page.Runs) > q.Limit {
		page.Runs = page.Runs[:q.Limit]
		page.Token = q.Token(page.Runs[q.Limit-1].keys)
	}
	for i := range page.Runs {
		page.Runs[i].After = q.Token(page.Runs[i].keys)
	}
	return page, nil
}

// Count counts the runs that match, up to most. There may be more if that many were found, or if more than Looked runs would
// have to be looked at.
func (r *Reader) Count(ctx context.Context, ask Ask, most int) (count int, more bool, err error) {
	ask.Order, ask.Limit, ask.Token = Newest, 1, ""
	q, err := ask.compile()
	if err != nil {
		return 0, false, err
	}
	err = sqltext.Snapshot(ctx, r.pool, func(tx pgx.Tx) error {
		if err := sqltext.InOrder(ctx, tx); err != nil {
			return err
		}
		walk := r.walk(&ask, q)
		if count, err = walk.count(ctx, tx, walk.source(), most+1); err != nil || count > most {
			return err
		}
		last, err := walk.last(ctx, tx)
		if err != nil || last == nil {
			return err
		}
		source, ok, err := walk.labelled(ctx, tx)
		if err != nil {
			return err
		}
		if more = !ok; ok {
			count, err = walk.count(ctx, tx, source, most+1)
		}
		return err
	})
	if err != nil {
		return 0, false, fmt.Errorf("count runs: %w", err)
	}
	if count > most {
		return most, true, nil
	}
	return count, more, nil
}

func (a *Ask) compile() (*listquery.Query, error) {
	b := listquery.Builder{}
	b.Where("a.parent_name IS NULL")
	b.Equal("a.project", a.Scope.Project)
	b.Equal("a.domain", a.Scope.Domain)
	direction := common.Sort_ASCENDING
	if a.Order.Desc {
		direction = common.Sort_DESCENDING
	}
	schema := lists.RunFields
	schema.Prefix, schema.MaxLimit = "", MaxLimit
	return schema.Compile(b, []string{"query", a.Scope.Project, a.Scope.Domain, a.Text, a.Me, strconv.FormatBool(a.Untriggered)}, &common.ListRequest{
		Limit: a.Limit, Token: a.Token, SortByFields: []*common.Sort{{Key: a.Order.Field, Direction: direction}},
	})
}

// walk is a look at some rows in their order.
type walk struct {
	ask    *Ask
	q      *listquery.Query // the scope and where the page begins
	driver driver
	most   int  // how many runs a reader looks at
	looked int  // how many of them this one does
	sorted bool // no index has the rows in the order: the newest runs are sorted
}

func (r *Reader) walk(ask *Ask, q *listquery.Query) *walk {
	w := &walk{ask: ask, q: q, most: r.looked, looked: r.looked, sorted: ask.Sorted()}
	w.driver = driverOf(ask, w.sorted || ask.Order != Updated)
	switch {
	case w.driver.errors && w.sorted:
		w.looked = max(1, w.looked/sortedErrorsPart)
	case w.driver.errors:
		w.looked = max(1, w.looked/errorsPart)
	case w.byDuration():
		w.looked = q.Limit + 1 // all of them match
	}
	return w
}

// byDuration reports whether the rows are those of the index of durations.
func (w *walk) byDuration() bool { return w.ask.Order.Field == Longest.Field && !w.sorted }

// order is the order in which rows are looked at.
func (w *walk) order() string {
	if w.sorted {
		return "a.created_at DESC, a.id DESC"
	}
	return w.q.OrderBy()
}

// scope are the conditions of the rows that are looked at. They are written with parameters of b.
func (w *walk) scope(b *listquery.Builder) string {
	if w.sorted && w.q.After() != "" {
		return w.q.Unpaged().Conditions()
	}
	return w.q.Conditions()
}

// source is the rows that are looked at.
func (w *walk) source() func(b *listquery.Builder) string {
	return func(b *listquery.Builder) string { return w.rows(b, "*", w.looked) }
}

// rows are the first rows in the order, before they are compared with the query.
func (w *walk) rows(b *listquery.Builder, columns string, limit int) string {
	conditions := append([]string{w.scope(b)}, w.driver.conditions(b)...)
	from := func(more ...string) string {
		return fmt.Sprintf("(SELECT %s FROM actions a WHERE %s ORDER BY %s LIMIT %d)",
			columns, strings.Join(append(conditions, more...), " AND "), w.order(), limit)
	}
	if len(w.driver.phases) == 0 {
		if w.byDuration() {
			return sqltext.ByDuration(strings.Join(conditions, " AND "), columns, w.order(), limit)
		}
		return from()
	}
	parts := make([]string, 0, len(w.driver.phases))
	for _, phase := range w.driver.phases {
		parts = append(parts, from("a.phase = "+strconv.Itoa(int(phase))))
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return fmt.Sprintf("(SELECT a.* FROM (%s) a ORDER BY %s LIMIT %d)", strings.Join(parts, " UNION ALL "), w.order(), limit)
}

// builder has the parameters of the scope.
func (w *walk) builder() *listquery.Builder {
	b := &listquery.Builder{}
	b.Continue(&w.q.Builder)
	return b
}

// where is the query as a condition. With an order that no index has, the page begins here.
func (w *walk) where(b *listquery.Builder) string {
	condition := condition(b, w.ask.Query, w.ask)
	if w.ask.Untriggered {
		condition += " AND a.trigger_name = '' AND a.trigger_task_name = ''"
	}
	if w.sorted && w.q.After() != "" {
		condition += " AND " + w.q.After()
	}
	return condition
}

func (w *walk) read(ctx context.Context, tx pgx.Tx, source func(*listquery.Builder) string) ([]Found, error) {
	b := w.builder()
	sql := `SELECT ` + lists.ListedColumns + `, a.labels, a.input_uri, ` + w.q.Keys() + ` FROM ` + source(b) + ` a WHERE ` + w.where(b) +
		` ORDER BY ` + w.q.OrderBy() + ` LIMIT ` + strconv.Itoa(w.q.Limit+1)
	rows, err := tx.Query(ctx, sql, sqltext.WithPlan(b.Args())...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (Found, error) {
		var f Found
		return f, row.Scan(append(lists.ListedTargets(&f.Action), &f.Labels, &f.InputURI, &f.keys)...)
	})
}

func (w *walk) count(ctx context.Context, tx pgx.Tx, source func(*listquery.Builder) string, most int) (count int, err error) {
	b := w.builder()
	sql := `SELECT count(*) FROM (SELECT 1 FROM ` + source(b) + ` a WHERE ` + w.where(b) + ` LIMIT ` + strconv.Itoa(most) + `) found`
	return count, tx.QueryRow(ctx, sql, sqltext.WithPlan(b.Args())...).Scan(&count)
}

// last is the last row that is looked at; nil if there are fewer than may be looked at.
func (w *walk) last(ctx context.Context, tx pgx.Tx) (*Found, error) {
	b := w.builder()
	if w.sorted {
		b.Continue(w.q.Unpaged()) // a statement must use all its parameters
	}
	sql := `SELECT ` + w.q.Keys() + `, a.created_at FROM ` + w.rows(b, "a.id, a.created_at, a.updated_at, a.ended_at", w.looked) + ` a ORDER BY ` + w.order() +
		` OFFSET ` + strconv.Itoa(w.looked-1)
	rows, err := tx.Query(ctx, sql, sqltext.WithPlan(b.Args())...)
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Found, error) {
		var f Found
		return f, row.Scan(&f.keys, &f.CreatedAt)
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}
