package lists_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/catalog"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/watches"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

// scopes are what callers may see, by name. Places are written project/domain.
var scopes = map[string][]string{
	"nothing": {}, "unknown": {"z/"}, "one domain": {"p/d"}, "a project": {"p/"}, "two domains": {"p/d", "q/other"},
	"two projects": {"p/", "q/"}, "twice the same": {"q/", "q/d"}, "a domain of all": {"/d"}, "a domain and a project": {"/d", "q/"},
	"very many": manyProjects("p/", "q/d"),
}

// manyProjects are places of which all but the given ones have nothing.
func manyProjects(places ...string) []string {
	for i := range 1000 {
		places = append(places, fmt.Sprint("empty-", i, "/"))
	}
	return places
}

func scopeOf(places []string) authz.Scope {
	var scope authz.Scope
	for _, place := range places {
		project, domain, _ := strings.Cut(place, "/")
		scope.Places = append(scope.Places, authz.Place{Project: project, Domain: domain})
	}
	return scope
}

// allRuns pages through a list of runs.
func allRuns(t *testing.T, ctx context.Context, r *lists.Reader, request *common.ListRequest) []lists.Listed {
	t.Helper()
	var all []lists.Listed
	request.Token = ""
	for {
		page, token, err := r.ListRuns(ctx, lists.RunScope{}, request)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page), int(request.GetLimit()))
		all = append(all, page...)
		if token == "" {
			return all
		}
		require.Len(t, page, int(request.GetLimit()), "pages before the last are full")
		request.Token = token
	}
}

// TestListsAreNarrowed compares each list under each scope with the rows of the whole list that are within the scope.
func TestListsAreNarrowed(t *testing.T) {
	pool := pgtest.New(t, store.Migrations())
	insertRoots(t, pool, 60, func(n int, r *schema.Root) {
		r.Project, r.Domain = []string{"p", "q", "x"}[n%3], []string{"d", "other"}[n%2]
		r.Labels = map[string]string{"team": []string{"a", "b"}[n%4/2]}
		if n%5 == 0 {
			r.Phase, r.EndedAt = 4, nil
		}
	})
	require.NoError(t, storetest.Exec(t.Context(), pool,
		`INSERT INTO actions (id, run_id, project, domain, run_name, name, parent_name, action_type, phase, created_at, updated_at)
			SELECT nextval('actions_id_seq'), id, project, domain, run_name, 'ask', 'a0', 3, 9, created_at, updated_at FROM actions WHERE parent_name IS NULL`,
		`INSERT INTO projects (id, name, description, labels, state, created_at, updated_at)
			SELECT n, n, '', '{}', 0, now(), now() FROM unnest(ARRAY['p', 'q', 'x']) n`,
		`INSERT INTO tasks (project, domain, name, version, spec_digest, created_at, updated_at)
			SELECT p, d, 'run.' || p || d, 'v1', '', now(), now() FROM unnest(ARRAY['p', 'q', 'x']) p, unnest(ARRAY['d', 'other']) d`))
	reader, watcher, projects, tasksReader := lists.NewReader(pool), watches.NewReader(pool), catalog.NewProjects(pool), catalog.NewTaskReader(pool)
	for name, places := range scopes {
		t.Run(name, func(t *testing.T) {
			scope := scopeOf(places)
			ctx := authz.WithScope(t.Context(), scope)
			for _, request := range []*common.ListRequest{
				{Limit: 7},
				{Limit: 7, SortBy: &common.Sort{Key: "created_at", Direction: common.Sort_ASCENDING}},
				{Limit: 4, SortBy: &common.Sort{Key: "ended_at"}},
				{Limit: 3, Filters: []*common.Filter{filter(common.Filter_EQUAL, "labels.team", "a")}},
				{Limit: 3, Filters: []*common.Filter{filter(common.Filter_VALUE_IN, "phase", "4", "5")}},
				{Limit: 3, SortBy: &common.Sort{Key: "created_at", Direction: common.Sort_ASCENDING}, Filters: []*common.Filter{
					filter(common.Filter_GREATER_THAN, "updated_at", listStart.Add(time.Minute).Format(time.RFC3339)),
					filter(common.Filter_LESS_THAN, "updated_at", listStart.Add(time.Hour).Format(time.RFC3339)),
				}},
			} {
				var want []lists.Listed
				for _, row := range allRuns(t, t.Context(), reader, request) {
					if scope.Allows(row.Project, row.Domain) {
						want = append(want, row)
					}
				}
				require.Equal(t, runNames(want), runNames(allRuns(t, ctx, reader, request)), "%v", request)
			}
			for _, place := range []schema.Scope{{Project: "p", Domain: "d"}, {Project: "x", Domain: "d"}} {
				rows, _, err := reader.ListRuns(ctx, lists.RunScope{Project: place.Project, Domain: place.Domain}, nil)
				require.NoError(t, err)
				require.Equal(t, scope.Allows(place.Project, place.Domain), len(rows) > 0, place)
			}

			var newest, wantNewest []string
			roots, err := watcher.NewestRoots(t.Context(), watches.RunTarget{}, 100)
			require.NoError(t, err)
			for _, row := range roots {
				if scope.Allows(row.Project, row.Domain) {
					wantNewest = append(wantNewest, row.RunName)
				}
			}
			roots, err = watcher.NewestRoots(ctx, watches.RunTarget{}, 100)
			require.NoError(t, err)
			for _, row := range roots {
				newest = append(newest, row.RunName)
			}
			require.Equal(t, wantNewest, newest)

			paused, _, total, err := reader.ListPaused(ctx, schema.Scope{}, "", 100, "")
			require.NoError(t, err)
			for _, row := range paused {
				require.True(t, scope.Allows(row.Action.Run.Project, row.Action.Run.Domain))
			}
			require.Len(t, paused, len(newest))
			require.EqualValues(t, len(newest), total)

			tasks, err := tasksReader.ListTasks(ctx, catalog.TaskScope{}, &common.ListRequest{})
			require.NoError(t, err)
			require.Len(t, tasks.Tasks, countPlaces(scope))
			require.EqualValues(t, countPlaces(scope), tasks.Total)
			for _, task := range tasks.Tasks {
				require.True(t, scope.Allows(task.Project, task.Domain))
			}

			listed, _, err := projects.List(ctx, "", &common.ListRequest{})
			require.NoError(t, err)
			var ids []string
			for _, p := range listed {
				ids = append(ids, p.ID)
			}
			require.Equal(t, touched(scope), strings.Join(ids, " "))

			parts, unfinished, err := reader.Activity(ctx, lists.Spans{From: listStart.Add(-time.Hour), Step: time.Hour, Count: 10})
			require.NoError(t, err)
			for _, part := range parts {
				require.True(t, scope.Allows(part.Project, part.Domain))
			}
			for _, part := range unfinished {
				require.True(t, scope.Allows(part.Project, part.Domain))
			}
			require.Equal(t, len(newest) > 0, len(parts) > 0)
			require.Len(t, unfinished, countPlaces(scope))

			for _, text := range []string{"run", "p", "team=a"} {
				found, err := reader.Search(ctx, text, 50)
				require.NoError(t, err)
				kinds := map[lists.FoundKind]int{}
				for _, one := range found {
					kinds[one.Kind]++
					require.True(t, scope.Allows(one.Project, one.Domain) || one.Kind == lists.FoundProject && scope.Touches(one.Project), "%v", one)
				}
				if text == "run" {
					require.Equal(t, min(50, len(newest)), kinds[lists.FoundRun])
					require.Equal(t, countPlaces(scope), kinds[lists.FoundTask])
				}
				if text == "p" && scope.Touches("p") {
					require.Equal(t, 1, kinds[lists.FoundProject])
				}
			}
		})
	}
}

// countPlaces returns how many of the six places are within a scope.
func countPlaces(scope authz.Scope) (count int) {
	for _, project := range []string{"p", "q", "x"} {
		for _, domain := range []string{"d", "other"} {
			if scope.Allows(project, domain) {
				count++
			}
		}
	}
	return count
}

func touched(scope authz.Scope) string {
	var ids []string
	for _, project := range []string{"p", "q", "x"} {
		if scope.Touches(project) {
			ids = append(ids, project)
		}
	}
	return strings.Join(ids, " ")
}

// TestNarrowedListsUseIndexes checks the plans of lists for callers with one and with several projects, among many
// runs of others.
func TestNarrowedListsUseIndexes(t *testing.T) {
	pool, config := storetest.Seeded(t, 20)
	require.NoError(t, storetest.Exec(t.Context(), pool,
		// A few old runs in the caller's projects.
		`UPDATE actions SET project = CASE WHEN hashtext(run_name) % 2 = 0 THEN 'mine' ELSE 'ours' END WHERE parent_name IS NULL AND hashtext(run_name || 'x') % 20 = 0 AND run_name <> 'wide'`,
		`VACUUM ANALYZE actions`))
	reader, recorded := recordedReader(t, pool)
	for name, places := range map[string][]string{"one": {"mine/"}, "two": {"mine/", "ours/" + config.Domain}} {
		ctx := authz.WithScope(t.Context(), scopeOf(places))
		for _, request := range []*common.ListRequest{
			{Limit: 100},
			{Limit: 100, SortBy: &common.Sort{Key: "updated_at"}},
			{Limit: 100, Filters: []*common.Filter{filter(common.Filter_EQUAL, "phase", "6")}},
		} {
			t.Run(fmt.Sprint(name, request.GetSortBy().GetKey(), len(request.GetFilters())), func(t *testing.T) {
				recorded.last = nil
				rows, _, err := reader.ListRuns(ctx, lists.RunScope{}, request)
				require.NoError(t, err)
				require.NotEmpty(t, rows)
				require.Len(t, recorded.last, 2, "the places, and the page")
				for _, statement := range recorded.last {
					planOf(t, pool, statement)
				}
			})
		}
	}
}

// TestAnUnlimitedScopeChangesNoStatement compares the list statements for an unrestricted caller with those without a
// scope.
func TestAnUnlimitedScopeChangesNoStatement(t *testing.T) {
	pool, config := overviewSeeded(t, 20)
	reader, recorded := recordedReader(t, pool)
	cases := append(listCases(config), overviewCases(config)...)
	statements := func(ctx context.Context, c listCase) []string {
		recorded.last = nil
		require.NoError(t, c.run(ctx, reader))
		var texts []string
		for _, statement := range recorded.last {
			texts = append(texts, fmt.Sprint(statement.SQL, statement.Args))
		}
		return texts
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			plain := statements(t.Context(), c)
			require.Equal(t, plain, statements(authz.WithScope(t.Context(), authz.Everything()), c))
			for _, statement := range plain {
				require.NotContains(t, statement, "place.project")
			}
		})
	}
}
