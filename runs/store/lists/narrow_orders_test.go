package lists_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// TestNarrowedListsInEveryOrder compares, for random scopes of few, of many and of very many places, every page in every order with
// the rows of the whole list that are within the scope.
func TestNarrowedListsInEveryOrder(t *testing.T) {
	const projects, roots = 150, 300
	r := rand.New(rand.NewPCG(1, 2))
	pool := pgtest.New(t, store.Migrations())
	insertRoots(t, pool, roots, func(n int, root *schema.Root) {
		project := r.IntN(projects)
		if n%3 == 0 {
			project = n % 2 // some have most
		}
		root.Project, root.Domain = fmt.Sprint("p", project), []string{"development", "production", "staging"}[r.IntN(3)]
		root.UpdatedAt = root.CreatedAt.Add(time.Duration(r.IntN(600)) * time.Minute)
		root.Phase, root.TaskName = int16(1+r.IntN(8)), fmt.Sprint("task", r.IntN(5))
		if root.Phase < 5 {
			root.EndedAt = nil
		}
	})
	reader := lists.NewReader(pool)
	var scopes []authz.Scope
	for _, count := range []int{30, 99, 250, 1200} {
		var scope authz.Scope
		for range count {
			place := authz.Place{Project: fmt.Sprint("p", r.IntN(2*projects))}
			if r.IntN(2) == 0 {
				place.Domain = []string{"development", "production", "none"}[r.IntN(3)]
			}
			scope.Places = append(scope.Places, place)
		}
		scopes = append(scopes, scope)
	}
	for _, key := range []string{"created_at", "updated_at", "ended_at", "duration_ms", "name", "phase", "task_name"} {
		for _, direction := range []common.Sort_Direction{common.Sort_DESCENDING, common.Sort_ASCENDING} {
			request := &common.ListRequest{Limit: 200, SortBy: &common.Sort{Key: key, Direction: direction}}
			whole := allRuns(t, t.Context(), reader, request)
			require.Len(t, whole, roots)
			for _, scope := range scopes {
				var want []lists.Listed
				for _, row := range whole {
					if scope.Allows(row.Project, row.Domain) {
						want = append(want, row)
					}
				}
				for _, limit := range []uint32{9, 60} {
					request.Limit = limit
					got := allRuns(t, authz.WithScope(t.Context(), scope), reader, request)
					require.Equal(t, runNames(want), runNames(got), "%d places, by %q %s, %d a page", len(scope.Places), key, direction, limit)
				}
			}
		}
	}
}
