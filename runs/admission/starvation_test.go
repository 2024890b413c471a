package admission_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
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

// A run starts with the next free place although another project has 20,000 older runs in the queue.
func TestAProjectWithManyRunsDoesNotStarveAnother(t *testing.T) {
	for _, c := range []struct {
		name    string
		maxLive int
		queue   queues.Queue
	}{
		{"the installation is full", 3, queues.Queue{Name: "q"}},
		{"the queue is full", 10_000, queues.Queue{Name: "q", MaxActions: 3}},
		{"as many runs as it may have", 10_000, queues.Queue{Name: "q", MaxRuns: 3}},
		{"one place", 10_000, queues.Queue{Name: "q", MaxActions: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, c.maxLive, 10, c.queue)
			f.roots("q", 20_000, 1)
			f.drain()
			places := len(f.live())
			for i := range 3 {
				f.run(fmt.Sprint("z.young", i), "q", func(r *schema.Root) { r.CreatedBySubject = fmt.Sprint("s", i%2) })
			}
			f.drain()
			next := func() string {
				before := f.live()
				_, err := f.pool.Exec(t.Context(), `UPDATE actions SET ended_at = now(), phase = 5
					WHERE id = (SELECT id FROM actions WHERE admitted_at IS NOT NULL AND ended_at IS NULL AND project = 'p0' ORDER BY id LIMIT 1)
						OR $1 AND admitted_at IS NOT NULL AND ended_at IS NULL`, places == 1)
				require.NoError(t, err)
				f.drain()
				for _, name := range f.live() {
					if !slices.Contains(before, name) {
						return name
					}
				}
				return ""
			}
			require.Equal(t, "z.young0/a0", next())
			if places == 1 {
				require.Regexp(t, `^r\d+/a0$`, next(), "in turns")
				require.Equal(t, "z.young1/a0", next(), "of the other person")
				return
			}
			require.Regexp(t, `^r\d+/a0$`, next(), "the other project has as many places, and had its last turn longer ago")
		})
	}
}
