package admission_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/flyte-binary/flyte-binary/internal/test/proptest"
	"github.com/flyte-binary/flyte-binary/runs/limits"
	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// known is an action as the model knows it.
type known struct {
	run, name, parent, queue string
	person                   string // who has the run
	priority                 int32
	engine                   bool
	id                       int // in creation order
	live, ended              bool
}

// model is a naive reference model of the queue.
type model struct {
	*fixture
	maxLive int
	actions map[string]*known // by run/name
	limits  map[string]int32  // of runs
	next    int
}

func (m *model) add(k *known) {
	k.id = m.next
	m.next++
	m.actions[k.run+"/"+k.name] = k
}

// takesPlace: the action is live and does not wait for a child.
func (m *model) takesPlace(k *known) bool {
	if !k.live || k.ended {
		return false
	}
	for _, other := range m.actions {
		if other.run == k.run && other.parent == k.name && !other.ended {
			return false
		}
	}
	return true
}

// taken counts the places and runs in use.
type taken struct {
	all    int
	queues map[*queues.Queue]int
	roots  map[*queues.Queue]int
	runs   map[string]int
	owners map[limits.Person]int // and of projects, without a subject
}

// owner is who has the run of an action, in its queue.
func (m *model) owner(k *known) limits.Person {
	return limits.Person{Project: limits.Project{Queue: m.set.Of(k.queue), Name: projectOf(k.run)}, Subject: k.person}
}

func (m *model) taken() taken {
	t := taken{queues: map[*queues.Queue]int{}, roots: map[*queues.Queue]int{}, runs: map[string]int{}, owners: map[limits.Person]int{}}
	for _, k := range m.actions {
		q := m.set.Of(k.queue)
		if k.live && !k.ended && k.parent == "" {
			t.roots[q]++
		}
		if !m.takesPlace(k) {
			continue
		}
		if !k.engine {
			t.all++
		}
		t.queues[q]++
		t.runs[k.run]++
		t.owners[m.owner(k)]++
		t.owners[limits.Person{Project: m.owner(k).Project}]++
	}
	return t
}

// held names the limit that keeps an action from being admitted, or is empty.
func (m *model) held(k *known, t taken) string {
	q := m.set.Of(k.queue)
	switch limit := m.limits[k.run]; {
	case limit > 0 && t.runs[k.run] >= int(limit):
		return "run"
	case q.MaxActions > 0 && t.queues[q] >= q.MaxActions:
		return "queue"
	case k.parent == "" && q.MaxRuns > 0 && t.roots[q] >= q.MaxRuns:
		return "runs"
	case !k.engine && t.all >= m.maxLive:
		return "installation"
	default:
		return ""
	}
}

// drained runs admission and compares the result with the model.
func (m *model) drained(rt *rapid.T) {
	before := m.taken()
	m.drain()
	var admitted []*known
	for _, name := range m.live() {
		k := m.actions[name]
		if k == nil || k.ended {
			rt.Fatalf("%s is live", name)
		}
		if !k.live {
			k.live = true
			admitted = append(admitted, k)
		}
	}
	after := m.taken()
	if n := after.all; n > m.maxLive && n > before.all {
		rt.Fatalf("the installation has %d", n)
	}
	for _, q := range m.set.All() {
		if n := after.queues[q]; q.MaxActions > 0 && n > q.MaxActions && n > before.queues[q] {
			rt.Fatalf("queue %s has %d actions", q.Name, n)
		}
		if n := after.roots[q]; q.MaxRuns > 0 && n > q.MaxRuns && n > before.roots[q] {
			rt.Fatalf("queue %s has %d runs", q.Name, n)
		}
	}
	for run, limit := range m.limits {
		if n := after.runs[run]; limit > 0 && n > int(limit) && n > before.runs[run] {
			rt.Fatalf("run %s has %d", run, n)
		}
	}
	for _, k := range m.actions {
		if k.live || k.ended {
			continue
		}
		why := m.held(k, after)
		if why == "" {
			rt.Fatalf("%s/%s waits although no limit holds it back", k.run, k.name)
		}
		if why == "run" {
			continue
		}
		m.fair(rt, k, admitted, after)
		m.takesTurns(rt, k, admitted, after)
	}
}

// takesTurns compares the owner of a waiting action that any place of its queue would have started with the owners of the
// actions of the queue that were admitted instead.
func (m *model) takesTurns(rt *rapid.T, waits *known, admitted []*known, after taken) {
	queue := m.set.Of(waits.queue)
	if waits.parent == "" && queue.MaxRuns > 0 && after.roots[queue] >= queue.MaxRuns {
		return
	}
	mine, full := m.owner(waits), !waits.engine && after.all >= m.maxLive
	ahead := map[limits.Person]bool{} // owners with a reason to be ahead
	for _, k := range admitted {
		if k.priority > waits.priority || full && k.engine {
			ahead[m.owner(k)] = true
			ahead[limits.Person{Project: m.owner(k).Project}] = true
		}
	}
	for _, k := range admitted {
		theirs := m.owner(k)
		if theirs.Project == mine.Project { // people take turns
			if theirs != mine && !ahead[theirs] && after.owners[theirs] > after.owners[mine]+1 {
				rt.Fatalf("%s/%s of %s waits, who has %d, and %s has %d", waits.run, waits.name, mine.Subject, after.owners[mine], theirs.Subject, after.owners[theirs])
			}
			continue
		}
		theirs, project := limits.Person{Project: theirs.Project}, limits.Person{Project: mine.Project}
		if theirs.Queue == queue && !ahead[theirs] && after.owners[theirs] > after.owners[project]+1 {
			rt.Fatalf("%s/%s waits, its project has %d, and %s has %d", waits.run, waits.name, after.owners[project], theirs.Name, after.owners[theirs])
		}
	}
}

// fair compares a waiting action with the actions of its queue and kind that were admitted instead.
func (m *model) fair(rt *rapid.T, waits *known, admitted []*known, after taken) {
	for _, k := range admitted {
		if m.set.Of(k.queue) != m.set.Of(waits.queue) || (k.parent == "") != (waits.parent == "") || k.engine != waits.engine {
			continue
		}
		switch {
		case k.priority < waits.priority:
			rt.Fatalf("%s/%s with priority %d was admitted before %s/%s with %d", k.run, k.name, k.priority, waits.run, waits.name, waits.priority)
		case k.priority > waits.priority:
		case k.run == waits.run && k.id > waits.id:
			rt.Fatalf("%s/%s was admitted before the older %s/%s", k.run, k.name, waits.run, waits.name)
		case k.run != waits.run && m.owner(k) == m.owner(waits) && m.oneQueue(k.run) && m.oneQueue(waits.run) && after.runs[k.run] > after.runs[waits.run]+1:
			rt.Fatalf("run %s got a place and has %d, run %s waits and has %d", k.run, after.runs[k.run], waits.run, after.runs[waits.run])
		}
	}
}

// oneQueue reports whether all actions of a run are in one queue, so that its places have one count.
func (m *model) oneQueue(run string) bool {
	names := map[*queues.Queue]bool{}
	for _, k := range m.actions {
		if k.run == run {
			names[m.set.Of(k.queue)] = true
		}
	}
	return len(names) == 1
}

func (m *model) any(rt *rapid.T, what string, wanted func(*known) bool) *known {
	var names []string
	for name, k := range m.actions {
		if wanted(k) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return m.actions[rapid.SampledFrom(names).Draw(rt, what)]
}

func (m *model) finish(k *known) {
	k.ended = true
	for _, other := range m.actions { // its unfinished children are aborted
		if other.run == k.run && other.parent == k.name && !other.ended {
			m.finish(other)
		}
	}
}

// TestAdmissionMatchesItsModel applies random runs, children, ends, aborts and configurations to the queue. After each
// pass the live actions exceed no limit, no action waits that could start, and places are shared fairly.
func TestAdmissionMatchesItsModel(t *testing.T) {
	// The writer itself admits nothing.
	f := newFixture(t, 1, 1, queues.Queue{Name: "default", MaxActions: 1}, queues.Queue{Name: "a", MaxActions: 1}, queues.Queue{Name: "b", MaxActions: 1})
	proptest.Check(t, func(rt *rapid.T) {
		_, err := f.pool.Exec(t.Context(), `TRUNCATE actions, action_events, action_states, attempt_usage, condition_assignees, placements, uncounted_failures, problem_failures, run_use, run_tasks`)
		require.NoError(t, err)
		m := &model{fixture: f, actions: map[string]*known{}, limits: map[string]int32{}}
		small := rapid.IntRange(0, 3)
		reconfigure := func() {
			m.maxLive = rapid.IntRange(1, 6).Draw(rt, "max live")
			list := []queues.Queue{}
			for _, name := range []string{"a", "b", "default"} {
				if rapid.Bool().Draw(rt, name) {
					list = append(list, queues.Queue{
						Name: name, MaxActions: small.Draw(rt, "actions"), MaxRuns: small.Draw(rt, "runs"), Priority: small.Draw(rt, "priority"),
					})
				}
			}
			f.reconfigure(m.maxLive, rapid.IntRange(1, 4).Draw(rt, "batch"), list...)
		}
		reconfigure()
		queue := rapid.SampledFrom([]string{"", "", "a", "b", "gone"})
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			switch rapid.IntRange(0, 12).Draw(rt, "step") {
			case 0, 1, 2:
				k := &known{run: fmt.Sprint(rapid.SampledFrom([]string{"p", "p", "q", "r"}).Draw(rt, "project"), ".r", m.next), name: root, queue: queue.Draw(rt, "queue"), priority: int32(rapid.IntRange(-1, 1).Draw(rt, "priority"))}
				k.person = rapid.SampledFrom([]string{"ada", "ada", "ben"}).Draw(rt, "person")
				k.engine = rapid.IntRange(0, 5).Draw(rt, "engine") == 0
				limit := rapid.SampledFrom([]int32{0, 0, 2, 3}).Draw(rt, "limit")
				m.limits[k.run] = limit
				m.add(k)
				f.run(k.run, k.queue, func(r *schema.Root) {
					r.Priority, r.MaxConcurrency, r.CreatedBySubject = k.priority, limit, k.person
					if k.engine {
						r.Runner = schema.RunnerBuiltin
					}
				})
			case 3, 4, 5, 6:
				parent := m.any(rt, "parent", func(k *known) bool { return k.live && !k.ended && !k.engine })
				if parent == nil {
					continue
				}
				for range rapid.IntRange(1, 5).Draw(rt, "children") {
					k := &known{run: parent.run, name: fmt.Sprint("c", m.next), parent: parent.name, queue: parent.queue, priority: parent.priority, person: parent.person}
					if rapid.IntRange(0, 4).Draw(rt, "elsewhere") == 0 {
						k.queue = rapid.SampledFrom([]string{"default", "a", "b"}).Draw(rt, "queue")
					}
					m.add(k)
					f.child(k.run, k.parent, k.name, k.queue)
				}
			case 7, 8, 9:
				if k := m.any(rt, "end", func(k *known) bool { return k.live && !k.ended }); k != nil {
					m.finish(k)
					f.end(k.run, k.name)
				}
			case 10:
				if k := m.any(rt, "abort", func(k *known) bool { return !k.ended }); k != nil {
					m.finish(k)
					require.NoError(t, f.Abort(t.Context(), store.Abort{Action: actionID(k.run, k.name)}))
				}
			case 11:
				reconfigure()
			default:
				m.drained(rt)
			}
		}
		m.drained(rt)
		// Every remaining action ends, so none waits forever.
		for range 500 {
			m.drained(rt)
			k := m.any(rt, "last", m.takesPlace)
			if k == nil {
				break
			}
			m.finish(k)
			f.end(k.run, k.name)
		}
		for name, k := range maps.All(m.actions) {
			if !k.ended {
				rt.Fatalf("%s never ended", name)
			}
		}
	})
}
