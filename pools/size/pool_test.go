package size_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/test/proptest"
	"github.com/flyte-binary/flyte-binary/pools/size"
)

var start = time.Unix(1_700_000_000, 0)

func policies() *rapid.Generator[size.Policy] {
	return rapid.Custom(func(t *rapid.T) size.Policy {
		most := rapid.IntRange(1, 5).Draw(t, "max")
		return size.Policy{
			Min: rapid.IntRange(0, most).Draw(t, "min"), Max: most, Concurrency: rapid.IntRange(1, 3).Draw(t, "concurrency"),
			IdleTTL:      time.Duration(rapid.IntRange(30, 90).Draw(t, "idle")) * time.Second,
			ScaledownTTL: time.Duration(rapid.IntRange(30, 90).Draw(t, "scaledown")) * time.Second,
		}
	})
}

func pools() *rapid.Generator[size.Pool] {
	return rapid.Custom(func(t *rapid.T) size.Pool {
		p := size.Pool{
			Policy: policies().Draw(t, "policy"), Waiting: rapid.IntRange(0, 12).Draw(t, "waiting"),
			LastWork: start.Add(-time.Duration(rapid.IntRange(0, 120).Draw(t, "idle for")) * time.Second),
		}
		for i := range rapid.IntRange(0, 7).Draw(t, "workers") {
			w := size.Worker{
				ID: fmt.Sprint(i), Started: rapid.Bool().Draw(t, "started"), Slots: p.Policy.Concurrency,
				Since: start.Add(-time.Duration(rapid.IntRange(0, 120).Draw(t, "since")) * time.Second),
			}
			if w.Started {
				w.Busy = rapid.IntRange(0, w.Slots).Draw(t, "busy")
				w.Blocked = rapid.IntRange(0, w.Busy).Draw(t, "blocked")
			}
			p.Workers = append(p.Workers, w)
		}
		return p
	})
}

func TestDecisionsKeepThePolicy(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		p := pools().Draw(t, "pool")
		d := size.Decide(p, start)
		busy, blocked, left := 0, 0, len(p.Workers)-len(d.Drain)
		for _, w := range p.Workers {
			busy += w.Busy
			if w.Blocked == w.Slots {
				blocked++
			}
			if w.Busy > 0 && slices.Contains(d.Drain, w.ID) {
				t.Fatalf("worker %s has work and is drained", w.ID)
			}
		}
		idle := p.Waiting == 0 && busy == 0
		expired := idle && !start.Before(p.LastWork.Add(p.Policy.IdleTTL))
		switch {
		case expired && (left != 0 || d.Create != 0):
			t.Fatalf("%d workers are left without work", left+d.Create)
		case expired:
			return
		case left+d.Create < min(p.Policy.Min, len(p.Workers)+p.Policy.Min):
			t.Fatalf("%d workers are less than %d", left+d.Create, p.Policy.Min)
		case d.Create > 0 && len(p.Workers)+d.Create > p.Policy.Max+blocked:
			t.Fatalf("%d workers are more than %d, of which %d are blocked", len(p.Workers)+d.Create, p.Policy.Max, blocked)
		case d.Create > 0 && len(d.Drain) > 0:
			t.Fatalf("creates %d and drains %v", d.Create, d.Drain)
		}
		if !d.Next.IsZero() && !d.Next.After(start) {
			t.Fatalf("the next look at %s is not in the future", d.Next)
		}
	})
}

// TestWaitingWorkAlwaysGetsASlot: if work waits, a slot is free, a worker starts, or some worker does something that ends by
// itself.
func TestWaitingWorkAlwaysGetsASlot(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		p := pools().Filter(func(p size.Pool) bool { return p.Waiting > 0 }).Draw(t, "pool")
		d := size.Decide(p, start)
		moves := d.Create > 0
		for _, w := range p.Workers {
			moves = moves || w.Busy < w.Slots && !slices.Contains(d.Drain, w.ID) && !slices.Contains(d.Reserve, w.ID) || w.Blocked < w.Busy
		}
		if !moves {
			t.Fatalf("%+v waits for ever", p)
		}
	})
}

// TestNestedWorkEnds runs trees of actions of one pool, each of which holds its slot until its children have ended.
func TestNestedWorkEnds(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		policy := policies().Draw(t, "policy")
		parents := rapid.SliceOfN(rapid.IntRange(-1, 30), 1, 25).Draw(t, "parents")
		s := &simulation{policy: policy}
		for i, parent := range parents {
			if parent >= i {
				parent = -1
			}
			s.actions = append(s.actions, &simulated{parent: parent})
		}
		for range 20 * len(s.actions) {
			s.step()
			if !slices.ContainsFunc(s.actions, func(a *simulated) bool { return !a.ended }) {
				return
			}
		}
		t.Fatalf("%v does not end with %+v", parents, policy)
	})
}

type simulated struct {
	parent int
	worker *int
	ended  bool
}

type simulation struct {
	policy  size.Policy
	actions []*simulated
	workers int
	gone    map[int]bool
	reserve []string
}

func (s *simulation) begun(i int) bool {
	parent := s.actions[i].parent
	return parent < 0 || s.actions[parent].worker != nil && !s.actions[parent].ended
}

func (s *simulation) waits(i int) bool {
	a := s.actions[i]
	return s.begun(i) && !a.ended && a.worker == nil
}

func (s *simulation) children(i int, is func(int) bool) bool {
	for c, child := range s.actions {
		if child.parent == i && (is(c) || s.children(c, is)) {
			return true
		}
	}
	return false
}

func (s *simulation) step() {
	p := size.Pool{Policy: s.policy, LastWork: start}
	busy := map[int][]int{}
	for i, a := range s.actions {
		if a.worker != nil && !a.ended {
			busy[*a.worker] = append(busy[*a.worker], i)
		}
		if s.waits(i) {
			p.Waiting++
		}
	}
	for w := range s.workers {
		if s.gone[w] {
			continue
		}
		one := size.Worker{ID: fmt.Sprint(w), Started: true, Slots: s.policy.Concurrency, Busy: len(busy[w]), Since: start}
		for _, i := range busy[w] {
			if s.children(i, s.waits) {
				one.Blocked++
			}
		}
		p.Workers = append(p.Workers, one)
	}
	d := size.Decide(p, start)
	s.workers, s.reserve = s.workers+d.Create, d.Reserve
	for _, id := range d.Drain {
		var w int
		_, _ = fmt.Sscan(id, &w)
		if s.gone == nil {
			s.gone = map[int]bool{}
		}
		s.gone[w] = true
	}
	var turns []size.Turn
	for i := range s.actions {
		if s.waits(i) {
			turns = append(turns, size.Turn{UID: int64(i), Nested: s.actions[i].parent >= 0})
		}
	}
	slices.SortFunc(turns, size.Before)
	for w := range s.workers {
		for n := len(busy[w]); n < s.policy.Concurrency && !s.gone[w] && len(turns) > 0; n++ {
			if slices.Contains(s.reserve, fmt.Sprint(w)) && !turns[0].Nested {
				break
			}
			s.actions[turns[0].UID].worker = &w
			turns = turns[1:]
		}
	}
	for i, a := range s.actions {
		if a.worker != nil && !a.ended && !s.children(i, func(c int) bool { return !s.actions[c].ended }) {
			a.ended = true
			return // one at a time
		}
	}
}

func TestAPoolGrowsAndShrinks(t *testing.T) {
	policy := size.Policy{Min: 1, Max: 3, Concurrency: 2, IdleTTL: time.Minute, ScaledownTTL: 30 * time.Second}
	worker := func(id string, busy int, age time.Duration) size.Worker {
		return size.Worker{ID: id, Started: true, Slots: 2, Busy: busy, Since: start.Add(-age)}
	}
	for name, c := range map[string]struct {
		pool size.Pool
		want size.Decision
	}{
		"the first action": {size.Pool{Waiting: 1}, size.Decision{Create: 1}},
		"five actions":     {size.Pool{Waiting: 5}, size.Decision{Create: 3}},
		"many actions":     {size.Pool{Waiting: 500}, size.Decision{Create: 3}},
		"a free slot":      {size.Pool{Waiting: 1, Workers: []size.Worker{worker("a", 1, 0)}}, size.Decision{}},
		"no free slot":     {size.Pool{Waiting: 1, Workers: []size.Worker{worker("a", 2, 0)}}, size.Decision{Create: 1}},
		"work is short": {
			size.Pool{Workers: []size.Worker{worker("a", 1, 0), worker("b", 0, 40*time.Second), worker("c", 0, 10*time.Second)}},
			size.Decision{Drain: []string{"b"}, Next: start.Add(20 * time.Second)},
		},
		"no work": {
			size.Pool{Workers: []size.Worker{worker("a", 0, 40*time.Second)}, LastWork: start.Add(-40 * time.Second)},
			size.Decision{Next: start.Add(20 * time.Second)},
		},
		"no work for long": {
			size.Pool{Workers: []size.Worker{worker("a", 0, 70*time.Second)}, LastWork: start.Add(-time.Minute)},
			size.Decision{Drain: []string{"a"}},
		},
	} {
		c.pool.Policy = policy
		if c.pool.LastWork.IsZero() {
			c.pool.LastWork = start
		}
		require.Equal(t, c.want, size.Decide(c.pool, start), name)
	}
}

// TestOneChildAfterTheOther: the worker that runs them waits in reserve between two of them.
func TestOneChildAfterTheOther(t *testing.T) {
	p := size.Pool{
		Policy: size.Policy{Max: 1, Concurrency: 1, IdleTTL: time.Minute, ScaledownTTL: 30 * time.Second}, LastWork: start, Waiting: 1,
		Workers: []size.Worker{{ID: "parent", Started: true, Slots: 1, Busy: 1, Blocked: 1, Since: start}},
	}
	require.Equal(t, size.Decision{Create: 1}, size.Decide(p, start), "for the first child")
	p.Waiting, p.Workers[0].Blocked = 0, 0
	p.Workers = append(p.Workers, size.Worker{ID: "extra", Started: true, Slots: 1, Since: start})
	end := start.Add(30 * time.Second)
	require.Equal(t, size.Decision{Reserve: []string{"extra"}, Next: end}, size.Decide(p, start), "after it")
	p.Waiting, p.Workers[0].Blocked = 1, 1
	require.Equal(t, size.Decision{}, size.Decide(p, start.Add(time.Second)), "the second child takes its slot")
	p.Waiting, p.Workers[0].Blocked = 0, 0
	require.Equal(t, size.Decision{Drain: []string{"extra"}}, size.Decide(p, end), "there were no more")
	p.Workers[1].Started = false
	require.Equal(t, size.Decision{Drain: []string{"extra"}}, size.Decide(p, start), "it has not cost anything yet")
}

func TestPoliciesHaveTheBoundsOfTheSDK(t *testing.T) {
	custom, err := structpb.NewStruct(map[string]any{
		"name": "env", "version": "abc",
		"spec": map[string]any{"parallelism": 3, "min_replica_count": 1, "replica_count": 4, "ttl_seconds": 60, "scaledown_ttl_seconds": 45},
	})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		template *core.TaskTemplate
		want     size.Policy
	}{
		"nothing": {&core.TaskTemplate{}, size.Policy{Min: 2, Max: 2, Concurrency: 1, IdleTTL: 30 * time.Second, ScaledownTTL: 30 * time.Second}},
		"custom":  {&core.TaskTemplate{Custom: custom}, size.Policy{Min: 1, Max: 4, Concurrency: 3, IdleTTL: time.Minute, ScaledownTTL: 45 * time.Second}},
		"policy": {
			&core.TaskTemplate{Custom: custom, ReusePolicy: &core.ReusePolicy{MaxReplicas: 1, Concurrency: 2, IdleTtl: durationpb.New(time.Second)}},
			size.Policy{Max: 1, Concurrency: 2, IdleTTL: 30 * time.Second, ScaledownTTL: 30 * time.Second},
		},
	} {
		require.Equal(t, c.want, size.PolicyOf(c.template), name)
	}
}

func TestKeysTellRunsApartWhereThePolicySaysSo(t *testing.T) {
	custom, err := structpb.NewStruct(map[string]any{"name": "env", "version": "abc"})
	require.NoError(t, err)
	assignment := func(scope core.ReusePolicy_Scope, run *task.RunSpec) *enginev1.Assignment {
		return &enginev1.Assignment{
			Ref:     &enginev1.ActionRef{Id: &common.ActionIdentifier{Run: &common.RunIdentifier{Project: "p", Domain: "d", Name: "r"}, Name: "a0"}},
			RunSpec: run,
			Task: &workflow.TaskAction{Spec: &task.TaskSpec{TaskTemplate: &core.TaskTemplate{
				Custom: custom, ReusePolicy: &core.ReusePolicy{Scope: scope},
			}}},
		}
	}
	shared := size.Key{Cluster: "c", Project: "p", Domain: "d", Name: "env", Version: "abc"}
	own := shared
	own.Run = "r"
	require.Equal(t, shared, size.KeyOf("c", assignment(core.ReusePolicy_GLOBAL, nil)))
	require.Equal(t, own, size.KeyOf("c", assignment(core.ReusePolicy_RUN, nil)))
	require.Equal(t, own, size.KeyOf("c", assignment(core.ReusePolicy_GLOBAL, &task.RunSpec{SecurityContext: &core.SecurityContext{}})))
}

// TestAPoolIsNamedByItsPolicy: name and version in the policy go before those in the custom fields, and a text that no index takes
// still tells pools apart.
func TestAPoolIsNamedByItsPolicy(t *testing.T) {
	key := func(custom map[string]any, policy *core.ReusePolicy) size.Key {
		fields, err := structpb.NewStruct(custom)
		require.NoError(t, err)
		return size.KeyOf("c", &enginev1.Assignment{Task: &workflow.TaskAction{Spec: &task.TaskSpec{
			Environment:  &task.Environment{Name: "env"},
			TaskTemplate: &core.TaskTemplate{Id: &core.Identifier{Name: "env.f", Version: "v1"}, Custom: fields, ReusePolicy: policy},
		}}})
	}
	older := map[string]any{"name": "older", "version": "abc"}
	for name, c := range map[string]struct {
		custom map[string]any
		policy *core.ReusePolicy
		want   size.Key
	}{
		"policy":            {older, &core.ReusePolicy{Name: "mine", Version: "7"}, size.Key{Cluster: "c", Name: "mine", Version: "7"}},
		"name alone":        {older, &core.ReusePolicy{Name: "mine"}, size.Key{Cluster: "c", Name: "mine", Version: "abc"}},
		"custom":            {older, &core.ReusePolicy{}, size.Key{Cluster: "c", Name: "older", Version: "abc"}},
		"neither":           {nil, &core.ReusePolicy{}, size.Key{Cluster: "c", Name: "env", Version: "v1"}},
		"as long as can be": {nil, &core.ReusePolicy{Name: strings.Repeat("é", 127)}, size.Key{Cluster: "c", Name: strings.Repeat("é", 127), Version: "v1"}},
	} {
		require.Equal(t, c.want, key(c.custom, c.policy), name)
	}
	for name, odd := range map[string]string{"long": strings.Repeat("é", 5000), "NUL": "a\x00b"} {
		one, other := key(map[string]any{"name": odd, "version": odd}, nil), key(map[string]any{"name": odd + "!", "version": odd}, nil)
		require.NotEqual(t, one, other, name)
		for _, text := range []string{one.Name, one.Version, other.Name} {
			require.LessOrEqual(t, len(text), 255, name)
			require.True(t, utf8.ValidString(text), name)
			require.NotContains(t, text, "\x00", name)
		}
	}
}
