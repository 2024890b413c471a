package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Kind is a kind of work that is due.
type Kind int

// The kinds. What a connector is slow to answer for one of them does not delay the others.
const (
	Deletes Kind = iota // jobs that should end
	Starts              // actions whose job is to be requested, again if the answer was lost
	Looks               // jobs to look at
	Kinds
)

// Kind is what is to be done about the job next.
func (j *Job) Kind() Kind {
	switch {
	case j.Stop != NoStop:
		return Deletes
	case j.Stage < Created:
		return Starts
	default:
		return Looks
	}
}

// Room says for how many jobs of each kind there is room, and for how many in all. Ahead is for how many more looks, if those of Of are
// full: they come after these.
type Room struct {
	All   int
	Of    [Kinds]int
	Ahead int
}

// limit is how many jobs of a kind there may be room for.
func (r Room) limit(kind Kind) int {
	limit := min(r.Of[kind], r.All)
	if kind == Looks && limit == r.Of[Looks] {
		limit += r.Ahead
	}
	return limit
}

// Due reads jobs of a connector that are due, as many as there is room for, without those with the uids in hand, and how long it is
// until another is due; 0 means that none is. Of the uids in hand, stopped are those that should end. The kinds take turns. Waiting actions are due by priority, while the connector has fewer
// than most jobs; 0 means always.
//
// All statements mean the same moment, so that no job is due too late for one and too early for the other. They do not use
// clock_timestamp(): an index cannot search for what changes while it is read.
func (s *Store) Due(ctx context.Context, connector string, hand []int64, most int, room Room) (due []Job, stopped []int64, next time.Duration, err error) {
	hand = append([]int64{}, hand...) // no uids are an empty array, not NULL
	var found [Kinds][]Job
	statements := &pgx.Batch{}
	read := func(kind Kind, statement string, args ...any) {
		statements.Queue(statement, append([]any{connector, hand, room.limit(kind)}, args...)...).Query(func(rows pgx.Rows) error {
			jobs, err := pgx.CollectRows(rows, scanJob)
			found[kind] = append(found[kind], jobs...)
			return err
		})
	}
	read(Deletes, dueBy(`j.stop <> `+sqlNoStop))
	read(Starts, dueBy(`j.stage = `+sqlIntended+` AND j.stop = `+sqlNoStop))
	read(Starts, `
		SELECT `+jobColumns+` FROM connector_jobs j
		WHERE j.connector = $1 AND j.stage = `+sqlWaiting+` AND j.due_at <= now() AND j.uid <> ALL($2)
		ORDER BY (-j.priority), j.uid
		LIMIT least($3, CASE WHEN $4 = 0 THEN $3 ELSE greatest(0, $4
			- (SELECT count(*) FROM connector_jobs h WHERE h.connector = $1 AND h.stage = `+sqlCreated+` AND h.stop = `+sqlNoStop+`)
			- (SELECT count(*) FROM connector_jobs h WHERE h.connector = $1 AND h.stage = `+sqlIntended+` AND h.stop = `+sqlNoStop+`)
			- (SELECT count(*) FROM connector_jobs h WHERE h.connector = $1 AND h.stop <> `+sqlNoStop+`)
			- (SELECT count(*) FROM connector_jobs h WHERE h.connector = $1 AND h.stage = `+sqlWaiting+` AND h.uid = ANY($2)))
		END)`, most)
	read(Looks, dueBy(`j.stage = `+sqlCreated+` AND j.stop = `+sqlNoStop))
	statements.Queue(`SELECT uid FROM connector_jobs WHERE uid = ANY($1) AND stop <> `+sqlNoStop, hand).Query(func(rows pgx.Rows) error {
		var err error
		stopped, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	})
	statements.Queue(`
		SELECT coalesce(greatest(0, extract(epoch FROM min(at) - now())), -1) FROM (
			(`+soonest(`j.stop <> `+sqlNoStop)+`) UNION ALL
			(`+soonest(`j.stage = `+sqlIntended+` AND j.stop = `+sqlNoStop)+`) UNION ALL
			(`+soonest(`j.stage = `+sqlCreated+` AND j.stop = `+sqlNoStop)+`) UNION ALL
			(`+soonest(`j.stage = `+sqlWaiting)+`)
		) AS upcoming`, connector).QueryRow(func(row pgx.Row) error {
		var seconds float64
		if err := row.Scan(&seconds); err != nil {
			return err
		}
		if seconds >= 0 {
			next = time.Duration(seconds*float64(time.Second)) + time.Millisecond
		}
		return nil
	})
	if err := s.db.SendBatch(ctx, statements).Close(); err != nil {
		return nil, nil, 0, fmt.Errorf("read due jobs: %w", err)
	}
	return shared(found, room), stopped, next, nil
}

// dueBy reads the jobs of a kind that have been due for the longest time.
func dueBy(which string) string {
	return `
		SELECT ` + jobColumns + ` FROM connector_jobs j
		WHERE j.connector = $1 AND ` + which + ` AND j.due_at <= now() AND j.uid <> ALL($2)
		ORDER BY j.due_at LIMIT $3`
}

// soonest reads when the next job of a kind becomes due.
func soonest(which string) string {
	return `SELECT j.due_at AS at FROM connector_jobs j WHERE j.connector = $1 AND ` + which + ` AND j.due_at > now() ORDER BY j.due_at LIMIT 1`
}

// shared takes jobs of all kinds alternately.
func shared(found [Kinds][]Job, room Room) (due []Job) {
	for left := true; left; {
		left = false
		for kind := range found {
			if len(found[kind]) == 0 || room.Of[kind] == 0 || len(due) == room.All {
				continue
			}
			due = append(due, found[kind][0])
			found[kind], left = found[kind][1:], true
			room.Of[kind]--
		}
	}
	if room.Of[Looks] == 0 {
		due = append(due, found[Looks][:min(len(found[Looks]), room.Ahead)]...)
	}
	return due
}
