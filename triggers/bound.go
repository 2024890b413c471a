package triggers

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/triggers/store"
)

// bound limits the runs of each trigger: a run may cause the next one in ways that no lineage shows, such as a version of an
// artifact that does not say where it comes from, or a webhook.
type bound struct {
	config Config
	store  *store.Store
	runs   Runs
	clock  clock.Clock

	mu   sync.Mutex
	room map[int64]int // how many runs a trigger may start until its unfinished ones are counted again; GUARDED_BY(mu)
}

func newBound(config Config, rows *store.Store, runs Runs, c clock.Clock) *bound {
	return &bound{config: config, store: rows, runs: runs, clock: c, room: map[int64]int{}}
}

// wait says until when a slot or version has to wait, and why. It returns the zero time for one that may start now. Backfills have
// a bound of their own.
func (b *bound) wait(ctx context.Context, d *decoded, f *store.Fire) (until time.Time, reason string, err error) {
	if f.BackfillID != nil {
		return time.Time{}, "", nil
	}
	now := b.clock.Now()
	if most := b.config.MaxPerMinute; most > 0 {
		nth, err := b.store.StartedBefore(ctx, f, most)
		if err != nil {
			return time.Time{}, "", err
		}
		if nth != nil && now.Before(nth.Add(time.Minute)) {
			return nth.Add(time.Minute), fmt.Sprintf("the trigger has started %d runs within a minute, and may not start more (triggers.maxPerMinute)", most), nil
		}
	}
	full, err := b.full(ctx, d)
	if err != nil || !full {
		return time.Time{}, "", err
	}
	pause := backoff.After(time.Second, b.config.RetryMax, int(f.Attempts)+1)
	return now.Add(pause), fmt.Sprintf("%d runs of the trigger are unfinished, and there may not be more (triggers.maxUnfinished)", b.config.MaxUnfinished), nil
}

// full reports whether a trigger has as many unfinished runs as it may have. Counting lists runs, so it is not done for
// each slot: after a count, as many runs may start as there was room. Runs that end meanwhile only make the next count
// smaller.
func (b *bound) full(ctx context.Context, d *decoded) (bool, error) {
	if b.config.MaxUnfinished <= 0 {
		return false, nil
	}
	b.mu.Lock()
	room := b.room[d.ID]
	b.mu.Unlock()
	if room <= 0 {
		unfinished, err := b.unfinished(ctx, d)
		if err != nil {
			return false, err
		}
		if room = b.config.MaxUnfinished - unfinished; room <= 0 {
			return true, nil
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.room[d.ID] = room - 1
	return false, nil
}

// unfinished counts the unfinished runs of a trigger, as far as the limit.
func (b *bound) unfinished(ctx context.Context, d *decoded) (count int, err error) {
	equal := func(field, value string) *common.Filter {
		return &common.Filter{Function: common.Filter_EQUAL, Field: field, Values: []string{value}}
	}
	request := &workflow.ListRunsRequest{
		ScopeBy: &workflow.ListRunsRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: d.Project, Domain: d.Domain}},
		Request: &common.ListRequest{Limit: listPage, Filters: []*common.Filter{
			equal("trigger_name", d.Name), equal("trigger_task_name", d.Task.Name),
			{Function: common.Filter_VALUE_IN, Field: "phase", Values: []string{"QUEUED", "WAITING_FOR_RESOURCES", "INITIALIZING", "RUNNING", "PAUSED"}},
		}},
	}
	for {
		answer, err := b.runs.ListRuns(ctx, request)
		if err != nil {
			return 0, err
		}
		count += len(answer.GetRuns())
		if count >= b.config.MaxUnfinished || answer.GetToken() == "" {
			return count, nil
		}
		request.GetRequest().Token = answer.GetToken()
	}
}

// listPage is the longest page of a list.
const listPage = 200
