package artifactlink_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle/lifecycletest"
	"github.com/flyte-binary/flyte-binary/runs/artifactlink"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// mine are leases that this process holds at once.
type mine struct{}

func (mine) Hold(ctx context.Context, _ string, _ time.Duration, work func(context.Context) error) error {
	return work(ctx)
}

// inputs is a list in memory, and a finder whose object store fails for the action "away" once.
type inputs struct {
	mu    sync.Mutex
	next  map[int64]time.Time
	tries map[int64]int
	found []worklists.FoundUse
	fails int // calls of the finder that fail as a whole
}

func (l *inputs) Pending(_ context.Context, now time.Time, _ time.Duration, _ int) (due []worklists.UnreadInputs, _ error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, name := range []string{"away", "there"} {
		if at, waits := l.next[int64(id)]; waits && !at.After(now) {
			action := ident.Action{Run: ident.Run{Project: "p", Domain: "d", Name: "r"}, Name: name}
			due = append(due, worklists.UnreadInputs{ID: int64(id), Action: action, InputURI: "/" + name, Tries: l.tries[int64(id)]})
		}
	}
	return due, nil
}

func (l *inputs) Postpone(_ context.Context, ids []int64, next []time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, id := range ids {
		l.next[id] = next[i]
		l.tries[id]++
	}
	return nil
}

func (l *inputs) Read(_ context.Context, ids []int64, found []worklists.FoundUse) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		delete(l.next, id)
	}
	l.found = append(l.found, found...)
	return nil
}

func (l *inputs) FindUses(_ context.Context, r *enginev1.FindUsesRequest) (*enginev1.FindUsesResponse, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fails > 0 {
		l.fails--
		return nil, errors.New("the service is away")
	}
	response := &enginev1.FindUsesResponse{}
	for _, action := range r.GetActions() {
		found := &enginev1.FoundUses{Artifacts: []*core.ArtifactVersionId{{Key: &core.ArtifactKey{Name: action.GetActionId().GetName()}, Version: "1"}}}
		if action.GetInputUri() == "/away" && l.tries[0] == 0 {
			found = &enginev1.FoundUses{Unavailable: true}
		}
		response.Actions = append(response.Actions, found)
	}
	return response, nil
}

func (l *inputs) left() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.next)
}

func newInputs(start time.Time) *inputs {
	return &inputs{next: map[int64]time.Time{0: start, 1: start}, tries: map[int64]int{}}
}

func TestInputsThatCannotBeReadAreRetriedAlone(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clk := clock.NewFake(start)
	list := newInputs(start)
	list.fails = 1
	loop := artifactlink.NewUseLoop(artifactlink.DefaultConfig(), artifactlink.UseDeps{
		List: list, Finder: list, Leases: mine{}, Clock: clk, Logger: zerolog.Nop(),
	})
	require.NoError(t, loop.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, loop.Stop(context.WithoutCancel(t.Context()))) })
	pass := func() {
		require.Eventually(t, func() bool { return clk.Timers() == 1 }, 10*time.Second, time.Millisecond)
	}
	pass()
	require.Equal(t, 2, list.left(), "the service was away: both stay")
	clk.Step(artifactlink.DefaultConfig().UsesEvery)
	require.Eventually(t, func() bool { return list.left() == 1 }, 10*time.Second, time.Millisecond)
	require.Eventually(t, func() bool {
		clk.Step(artifactlink.DefaultConfig().UsesEvery)
		return list.left() == 0
	}, 10*time.Second, time.Millisecond)
	require.Equal(t, []worklists.FoundUse{
		{ActionID: 1, ArtifactKey: schema.ArtifactKey{Name: "there", Version: "1"}},
		{ActionID: 0, ArtifactKey: schema.ArtifactKey{Name: "away", Version: "1"}},
	}, list.found)
}

func TestTheUseLoopIsAPart(t *testing.T) {
	t.Parallel()
	lifecycletest.Stress(t, func() lifecycle.Part {
		list := newInputs(time.Time{})
		return artifactlink.NewUseLoop(artifactlink.DefaultConfig(), artifactlink.UseDeps{
			List: list, Finder: list, Leases: mine{}, Clock: clock.System{}, Logger: zerolog.Nop(),
		})
	})
}
