package admission_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/runs/queues"
)

// wide creates a run with many waiting children, without recording each.
func (f *fixture) wide(run, queue string, children int) {
	f.t.Helper()
	f.run(run, queue, nil)
	f.drain()
	_, err := f.pool.Exec(f.t.Context(), `
		INSERT INTO actions (id, run_id, project, domain, run_name, name, parent_name, action_type, phase, queue, created_at, updated_at)
		SELECT nextval('actions_id_seq'), r.id, r.project, r.domain, r.run_name, 'c' || n, 'a0', 1, 1, r.queue, r.created_at, r.created_at
		FROM actions r, generate_series(1, $2::int) n WHERE r.run_name = $1 AND r.parent_name IS NULL`, run, children)
	require.NoError(f.t, err)
}

// A run of three actions starts and continues with the next free places, alongside an older run of 50,000.
func TestAWideRunDoesNotStarveASmallOne(t *testing.T) {
	for _, c := range []struct {
		name    string
		maxLive int
		queue   queues.Queue
	}{
		{"the installation is full", 8, queues.Queue{Name: "q"}},
		{"the queue is full", 10_000, queues.Queue{Name: "q", MaxActions: 8}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, c.maxLive, 500, c.queue)
			f.wide("wide", "q", 50_000)
			f.drain()
			f.run("small", "q", nil)
			f.drain()
			live := f.live()
			require.Len(t, live, 9, "the parent that waits, and eight")
			require.NotContains(t, live, "small/a0")
			next := 1
			free := func() {
				f.end("wide", fmt.Sprint("c", next))
				next++
				f.drain()
			}
			free()
			require.Contains(t, f.live(), "small/a0", "the first free place")
			f.children("small", root, 3, "q")
			f.drain()
			require.Contains(t, f.live(), "small/a0-0", "the place of its parent, which waits now")
			free()
			require.Contains(t, f.live(), "small/a0-1")
			free()
			require.Contains(t, f.live(), "small/a0-2")
			f.end("small", "a0-0", "a0-1", "a0-2", root)
			f.drain()
			wide := 0
			for _, name := range f.live() {
				if strings.HasPrefix(name, "wide/c") {
					wide++
				}
			}
			require.Equal(t, 8, wide, "then the wide run has all places again")
		})
	}
}

// Places are shared evenly whether a pass admits many batches or places are scarce.
func TestRunsShareThePlacesFromTheFirst(t *testing.T) {
	f := newFixture(t, 6, 1)
	for _, run := range []string{"old", "young"} {
		f.run(run, "", nil)
	}
	f.drain()
	for _, run := range []string{"old", "young"} {
		f.children(run, root, 4, "")
	}
	f.drain()
	places := map[string]int{}
	for _, name := range f.live() {
		if run, action, _ := strings.Cut(name, "/"); action != root {
			places[run]++
		}
	}
	require.Equal(t, map[string]int{"old": 3, "young": 3}, places)
}
