package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/connectors/store"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
)

func TestMain(m *testing.M) { pgtest.VerifyMain(m) }

// jobs are n jobs of a connector.
func jobs(t *testing.T, s *store.Store, first, n int64) {
	t.Helper()
	all := make([]store.Job, n)
	for i := range all {
		all[i] = store.Job{UID: first + int64(i), TaskType: "batch_job", Attempt: 1, Action: ident.Action{Run: ident.Run{Project: "p", Domain: "d", Name: "r"}, Name: "a0"}}
	}
	_, err := s.Offer(t.Context(), all)
	require.NoError(t, err)
}

func registered(t *testing.T) (*pgxpool.Pool, *store.Store) {
	t.Helper()
	db := pgtest.Schemas(t, store.Schema())
	s := store.New(db)
	require.NoError(t, s.Register(t.Context(), []store.Connector{{Name: "batch", Types: []store.Type{{Name: "batch_job"}}}}, ""))
	return db, s
}

// TestJobsOfAConnectorThatAnswersAgain: each was looked at when its own pause ended, since the statement failed.
func TestJobsOfAConnectorThatAnswersAgain(t *testing.T) {
	db, s := registered(t)
	jobs(t, s, 1, 20)
	_, err := db.Exec(t.Context(), `UPDATE connector_jobs SET due_at = clock_timestamp() + interval '1 hour', failures = CASE WHEN uid <= 10 THEN -3 ELSE 0 END`)
	require.NoError(t, err)
	require.NoError(t, s.Hasten(t.Context(), "batch", time.Minute))
	var soon, later int
	require.NoError(t, db.QueryRow(t.Context(), `
		SELECT count(*) FILTER (WHERE uid <= 10 AND due_at <= clock_timestamp() + interval '1 minute'),
			count(*) FILTER (WHERE uid > 10 AND due_at > clock_timestamp() + interval '50 minutes') FROM connector_jobs`).Scan(&soon, &later))
	require.Equal(t, 10, soon, "those that could not be asked about")
	require.Equal(t, 10, later, "the others keep their pause")
}

// TestTheKindsTakeTurns: thousands of looks that are due delay neither new jobs nor deletes.
func TestTheKindsTakeTurns(t *testing.T) {
	db, s := registered(t)
	jobs(t, s, 1, 300)
	change := func(statement string) {
		_, err := db.Exec(t.Context(), `UPDATE connector_jobs SET `+statement)
		require.NoError(t, err)
	}
	change(`stage = 2, due_at = due_at - interval '1 hour' WHERE uid <= 200`)
	change(`stop = 1 WHERE uid <= 50`)
	change(`stage = 1 WHERE uid BETWEEN 201 AND 202`)
	due, _, _, err := s.Due(t.Context(), "batch", nil, 0, store.Room{All: 12, Of: [store.Kinds]int{9, 9, 9}})
	require.NoError(t, err)
	count := [store.Kinds]int{}
	var starts []int64
	for i := range due {
		count[due[i].Kind()]++
		if due[i].Kind() == store.Starts {
			starts = append(starts, due[i].UID)
		}
	}
	require.Equal(t, [store.Kinds]int{4, 4, 4}, count)
	require.ElementsMatch(t, []int64{201, 202}, starts[:2], "those that may exist are first")
	due, _, _, err = s.Due(t.Context(), "batch", nil, 0, store.Room{All: 12, Of: [store.Kinds]int{9, 0, 1}})
	require.NoError(t, err)
	require.Len(t, due, 10)
	looks := func(room store.Room) (looks, others int) {
		due, _, _, err := s.Due(t.Context(), "batch", nil, 0, room)
		require.NoError(t, err)
		for i := range due {
			if due[i].Kind() == store.Looks {
				looks++
			}
		}
		return looks, len(due) - looks
	}
	found, others := looks(store.Room{All: 12, Of: [store.Kinds]int{3, 3, 6}, Ahead: 20})
	require.Equal(t, []int{26, 6}, []int{found, others}, "some looks come after those that have a place")
	found, others = looks(store.Room{All: 12, Of: [store.Kinds]int{6, 6, 6}, Ahead: 20})
	require.Equal(t, []int{4, 8}, []int{found, others}, "others have the places that those would wait for")
	due, _, _, err = s.Due(t.Context(), "batch", nil, 202, store.Room{All: 3, Of: [store.Kinds]int{0, 3, 0}})
	require.NoError(t, err)
	require.Len(t, due, 2, "there is no place for more jobs")
}

// TestReadingWhatIsDueReadsNothingElse: the loop does this many times a second, with thousands of jobs that are not due.
func TestReadingWhatIsDueReadsNothingElse(t *testing.T) {
	db, s := registered(t)
	jobs(t, s, 1, 3000)
	for _, statement := range []string{
		`UPDATE connector_jobs SET due_at = due_at + interval '1 hour'`, `UPDATE connector_jobs SET stage = 2 WHERE uid <= 2000`,
		`UPDATE connector_jobs SET stop = 1 WHERE uid <= 1000`, `VACUUM ANALYZE connector_jobs`, `SELECT pg_stat_force_next_flush()`,
	} {
		_, err := db.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	read := func() (n int64) {
		_, err := db.Exec(t.Context(), `SELECT pg_stat_force_next_flush()`)
		require.NoError(t, err)
		require.NoError(t, db.QueryRow(context.Background(),
			`SELECT seq_tup_read + (SELECT coalesce(sum(idx_tup_read), 0) FROM pg_stat_user_indexes WHERE relname = 'connector_jobs')
			FROM pg_stat_user_tables WHERE relname = 'connector_jobs'`).Scan(&n))
		return n
	}
	before := read()
	for range 10 {
		due, _, next, err := s.Due(t.Context(), "batch", nil, 0, store.Room{All: 16, Of: [store.Kinds]int{12, 12, 12}})
		require.NoError(t, err)
		require.Empty(t, due)
		require.NotZero(t, next)
	}
	require.Less(t, read()-before, int64(500))
}

// TestAJobThatMovesIsNotRequested: another connector serves its type since it was read.
func TestAJobThatMovesIsNotRequested(t *testing.T) {
	_, s := registered(t)
	jobs(t, s, 1, 1)
	due, _, _, err := s.Due(t.Context(), "batch", nil, 0, store.Room{All: 1, Of: [store.Kinds]int{1, 1, 1}})
	require.NoError(t, err)
	require.Len(t, due, 1)
	served := []store.Type{{Name: "batch_job"}}
	require.NoError(t, s.Register(t.Context(), []store.Connector{{Name: "better", Types: served}, {Name: "batch", Types: served}}, ""))
	waits, err := s.Intend(t.Context(), &due[0], nil)
	require.NoError(t, err)
	require.False(t, waits)
}
