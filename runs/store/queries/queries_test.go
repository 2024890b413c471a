package queries_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/runs/query"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/queries"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

var (
	here = schema.Scope{Project: "p", Domain: "d"}
	now  = time.Date(2026, time.May, 3, 0, 0, 0, 0, time.UTC)
)

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// randomRun has values that the terms of randomQuery are about.
func randomRun(r *rand.Rand, n int) schema.Root {
	created := now.Add(-time.Duration(r.IntN(3*24*60)) * time.Minute)
	row := schema.Root{}
	row.ID, row.RunID, row.Project, row.Domain, row.RunName, row.Name = int64(1000+n), int64(1000+n), "p", pick(r, "d", "d", "d", "e"), fmt.Sprintf("run%03d", n), "a0"
	row.ActionType, row.Phase, row.CreatedAt, row.UpdatedAt = 1, pick[int16](r, 1, 2, 3, 4, 5, 5, 5, 6, 6, 7, 8, 9, 10), created, created.Add(time.Duration(r.IntN(600))*time.Minute)
	if row.Phase == 9 {
		row.Phase = state.Paused
	}
	if state.Terminal(row.Phase) {
		ended := created.Add(time.Duration(r.IntN(7200)) * time.Second)
		row.EndedAt = &ended
	}
	if row.Phase > 3 {
		started := created.Add(time.Duration(r.IntN(60)) * time.Second)
		row.StartedAt = &started
	}
	row.TaskName, row.TaskVersion = pick(r, "env.train", "env.score", "50%_sure", "Größe"), pick(r, "v1", "v2")
	row.CreatedBySubject, row.Queue, row.Cluster, row.TriggerName = pick(r, "ada", "bob", ""), pick(r, "", "gpu"), pick(r, "", "default", "east", "west"), pick(r, "", "", "nightly", "hourly", "weekly")
	row.Source, row.Labels = pick[int16](r, 1, 2, 3, 4), map[string]string{}
	if r.IntN(2) == 0 {
		row.Labels["team"] = pick(r, "ml", "ops", "")
	}
	if r.IntN(20) == 0 {
		row.Labels["rare"] = "yes"
	}
	if r.IntN(5) == 0 {
		row.PausedCount = 1
	}
	if r.IntN(3) > 0 && row.Phase > 4 {
		row.Error, _ = proto.Marshal(&core.ExecutionError{Code: pick(r, "KeyError", "OOM"), Message: pick(r, "'größe' is missing", `C:\new 100%`, "out of memory")})
	}
	return row
}

func randomTerm(r *rand.Rand) string {
	return pick(r, "train", "RUN1", `"50%_"`, "größe", "name:1", "name=run007", "task:score", "task=env.train", "version:v1", "version:v1,v2",
		"phase:failed", "phase:failed,timed-out", "phase:running,queued", "phase:succeeded", "status:aborted,recovered", "source:cli", "source:web,schedule",
		"trigger:nightly", "error:keyerror", `error:"größe"`, `error:"C:\new"`, "error:100%", "owner:me", "owner:bob", "owner:ada,bob", "label:team", "label:team=ml",
		"label:team=", "label:rare=yes", "cluster:east", "cluster:default", "cluster:east,west", "queue:gpu", "is:paused", "is:active", "is:ended", "is:paused,ended",
		"created>24h", "since:36h", "until:2026-05-01", "created:2026-05-02", "started<12h", "started>=2026-05-01T12:00Z", "ended>24h", "updated<6h",
		"duration>30m", "duration<=1h", "duration>2d")
}

func randomQuery(r *rand.Rand, depth int) string {
	parts := make([]string, 0, 3)
	for range 1 + r.IntN(3) {
		part := randomTerm(r)
		if depth > 0 && r.IntN(4) == 0 {
			part = "(" + randomQuery(r, depth-1) + ")"
		}
		parts = append(parts, pick(r, "", "", "-", "not ")+part)
	}
	return strings.Join(parts, pick(r, " ", " ", " or ", " and "))
}

// holds is the query, as simply as it can be evaluated on a row.
func holds(node *query.Node, row *schema.Root) bool {
	each := func(node *query.Node) bool { return holds(node, row) }
	switch node.Kind {
	case query.And:
		return !slices.ContainsFunc(node.Nodes, func(n *query.Node) bool { return !each(n) })
	case query.Or:
		return slices.ContainsFunc(node.Nodes, each)
	case query.Not:
		return !each(node.Nodes[0])
	default:
		return termHolds(node.Term, row)
	}
}

func termHolds(t *query.Term, row *schema.Root) bool {
	has := func(text string) bool {
		if t.Op == query.Equal {
			return text == t.Text
		}
		return strings.Contains(strings.ToLower(text), strings.ToLower(t.Text))
	}
	one := func(value string) bool { return slices.Contains(t.Values, value) }
	at := func(value *time.Time) bool { return value != nil && compares(t.Op, value.Compare(t.Moment.In(now))) }
	switch t.Key {
	case query.Text:
		return has(row.RunName + " " + row.TaskName)
	case query.Name:
		return has(row.RunName)
	case query.Task:
		return has(row.TaskName)
	case query.Version:
		return one(row.TaskVersion)
	case query.Phase:
		return one(map[int16]string{
			1: "queued", 2: "waiting", 3: "initializing", 4: "running", state.Paused: "paused", 5: "succeeded", 6: "failed", 7: "aborted", 8: "timed-out", 10: "recovered",
		}[row.Phase])
	case query.Source:
		return one(map[int16]string{1: "web", 2: "cli", 3: "schedule", 4: "artifact"}[row.Source])
	case query.Trigger:
		return one(row.TriggerName)
	case query.Error:
		var failure core.ExecutionError
		return (row.Phase == state.Failed || row.Phase == state.TimedOut) && proto.Unmarshal(row.Error, &failure) == nil && (has(failure.Code) || has(failure.Message))
	case query.Owner:
		return one(row.CreatedBySubject) || one("me") && row.CreatedBySubject == "ada"
	case query.Label:
		value, there := row.Labels[t.Name]
		return there && (t.Op == query.Exists || value == t.Text)
	case query.Cluster:
		return one(row.Cluster)
	case query.Queue:
		return one(row.Queue)
	case query.Is:
		return one("paused") && row.PausedCount > 0 || one("active") && row.EndedAt == nil || one("ended") && row.EndedAt != nil
	case query.Duration:
		end := now
		if row.EndedAt != nil {
			end = *row.EndedAt
		}
		return compares(t.Op, int(end.Sub(row.CreatedAt)-t.Length))
	case query.Created:
		return at(&row.CreatedAt)
	case query.Updated:
		return at(&row.UpdatedAt)
	case query.Started:
		return at(row.StartedAt)
	default:
		return at(row.EndedAt)
	}
}

func compares(op query.Op, order int) bool {
	switch op {
	case query.Less:
		return order < 0
	case query.LessOrEqual:
		return order <= 0
	case query.Greater:
		return order > 0
	default:
		return order >= 0
	}
}

// TestQueriesAnswerAsTheyAreMeant compares random queries over random runs with what they mean, in each order, page by page,
// and also when an answer may look at a few runs only.
func TestQueriesAnswerAsTheyAreMeant(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 8))
	pool := pgtest.New(t, store.Migrations())
	rows := make([]schema.Root, 300)
	for n := range rows {
		rows[n] = randomRun(r, n)
	}
	require.NoError(t, storetest.Insert(t.Context(), pool, rows...))
	readers := map[string]*queries.Reader{"all": queries.NewReader(pool), "few": queries.NewReaderOf(pool, 25)}
	found := 0
	for n := range 200 {
		text := randomQuery(r, 2)
		if n%10 >= 8 {
			text = "" // an index has all runs by duration
		}
		node, err := query.Parse(text)
		require.NoError(t, err, text)
		var want []schema.Root
		for _, row := range rows {
			if row.Domain == here.Domain && holds(node, &row) {
				want = append(want, row)
			}
		}
		found += min(len(want), 1)
		if n%4 == 0 {
			requireFolds(t, pool, &queries.Ask{Query: node, Text: text, Now: now, Me: "ada"}, want)
		}
		untriggered := n%3 == 0
		if untriggered {
			want = slices.DeleteFunc(want, func(row schema.Root) bool { return row.TriggerName != "" })
		}
		orders := []queries.Order{queries.Newest, queries.Oldest, queries.Updated, queries.Longest, queries.Shortest}
		order := orders[n%len(orders)]
		ask := queries.Ask{Scope: here, Query: node, Text: text, Order: order, Limit: 7, Now: now, Me: "ada", Untriggered: untriggered}
		for name, reader := range readers {
			names, bounded := all(t, reader, ask)
			require.True(t, name == "few" || !bounded)
			if bounded {
				continue // in order of the newest only
			}
			require.Equal(t, namesOf(want, order), names, "%s, by %v, of %s", text, order, name)
			count, more, err := reader.Count(t.Context(), ask, 40)
			require.NoError(t, err)
			if more {
				require.GreaterOrEqual(t, len(want), count, text)
			} else {
				require.Equal(t, len(want), count, text)
			}
			require.True(t, name == "few" || more == (len(want) > 40), text)
		}
	}
	require.Greater(t, found, 100, "most queries find something")
}

// requireFolds compares the runs of triggers that a query folds with those that match.
func requireFolds(t *testing.T, pool *pgxpool.Pool, ask *queries.Ask, want []schema.Root) {
	t.Helper()
	triggered := map[int16]int32{}
	for _, row := range want {
		if row.TriggerName != "" {
			triggered[row.Phase]++
		}
	}
	folds, complete, err := lists.NewReader(pool).RunFolds(t.Context(), here, nil, ask.Condition)
	require.NoError(t, err, ask.Text)
	require.True(t, complete)
	counts := map[int16]int32{}
	for _, fold := range folds {
		for phase, count := range fold.Counts {
			if count > 0 {
				counts[int16(phase)] += count
			}
		}
	}
	require.Equal(t, triggered, counts, ask.Text)
}

func namesOf(rows []schema.Root, order queries.Order) []string {
	key := func(row *schema.Root) int64 {
		switch {
		case order.Field == "created_at":
			return row.CreatedAt.UnixMicro()
		case order.Field == "updated_at":
			return max(row.UpdatedAt.UnixMicro(), row.CreatedAt.UnixMicro())
		case row.EndedAt == nil:
			return 1 << 60 // after all others
		default:
			return row.EndedAt.Sub(row.CreatedAt).Milliseconds()
		}
	}
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b schema.Root) int {
		sign := 1
		if order.Desc {
			sign = -1
		}
		if d := key(&a) - key(&b); d != 0 {
			return sign * int(d)
		}
		return sign * int(a.ID-b.ID)
	})
	names := make([]string, 0, len(rows))
	for _, row := range rows {
		names = append(names, row.RunName)
	}
	return names
}

// all reads all pages. bounded is whether there may be more.
func all(t *testing.T, reader *queries.Reader, ask queries.Ask) (names []string, bounded bool) {
	t.Helper()
	names = []string{}
	for range 1000 {
		page, err := reader.Find(t.Context(), ask)
		require.NoError(t, err, ask.Text)
		require.LessOrEqual(t, len(page.Runs), int(ask.Limit))
		for _, run := range page.Runs {
			names = append(names, run.RunName)
		}
		if bounded = bounded || page.Bounded; page.Token == "" {
			return names, bounded
		}
		ask.Token = page.Token
	}
	require.Fail(t, "the pages do not end", ask.Text)
	return nil, false
}

// TestFewerRunsAreSearchedForErrors: reading an error takes long, so an answer looks at a quarter of what it may, and says so.
func TestFewerRunsAreSearchedForErrors(t *testing.T) {
	pool := pgtest.New(t, store.Migrations())
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 30 {
		row := randomRun(r, n)
		ended := row.CreatedAt.Add(time.Minute)
		row.Domain, row.Phase, row.EndedAt = here.Domain, state.Failed, &ended
		require.NoError(t, storetest.Insert(t.Context(), pool, row))
	}
	for text, bounded := range map[string]bool{
		"error:nothing": true, "phase:failed error:nothing": true, "phase:failed nothing": false, "label:rare=no error:nothing": false,
	} {
		node, err := query.Parse(text)
		require.NoError(t, err)
		page, err := queries.NewReaderOf(pool, 40).Find(t.Context(), queries.Ask{Scope: here, Query: node, Text: text, Order: queries.Newest, Limit: 5, Now: now})
		require.NoError(t, err)
		require.Empty(t, page.Runs, text)
		require.Equal(t, bounded, !page.Until.IsZero(), text)
		require.Equal(t, bounded, page.Token != "", text)
	}
}
