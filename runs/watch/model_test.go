package watch_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/flyte-binary/flyte-binary/internal/test/proptest"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/runs/watch"
)

// rank orders the phases of one attempt.
func rank(phase common.ActionPhase) int {
	return slices.Index([]common.ActionPhase{queued, 2, 3, running, succeeded}, phase)
}

// Random writers change random children of several parents while watchers come and go, with a ring so small that
// subscribers fall behind. Every watcher must see, for each child, phases that only advance, one end, and finally the
// state of the database.
func TestChildrenGapFree(t *testing.T) {
	f := newFixture(t, withConfig(func(c *watch.Config) { c.Ring, c.Page, c.Poll = 8, 3, 50*time.Millisecond }))
	names := 0
	proptest.Check(t, func(rt *rapid.T) {
		names++
		r := f.run("p", "development", fmt.Sprintf("r%d", names))
		for _, parent := range []string{"p0", "p1"} {
			r.child(parent)
		}
		writers := rapid.IntRange(1, 3).Draw(rt, "writers")
		watchers := rapid.IntRange(1, 4).Draw(rt, "watchers")
		perWriter := rapid.IntRange(1, 12).Draw(rt, "children")
		f.wake.Store(rapid.IntRange(0, 3).Draw(rt, "wake") > 0) // sometimes every wake-up is lost

		var work sync.WaitGroup
		for w := range writers {
			work.Go(func() {
				for i := range perWriter {
					name := fmt.Sprintf("w%dc%d", w, i)
					r.apply(change{name: name, parent: fmt.Sprintf("p%d", i%2), phase: queued})
					for _, phase := range []common.ActionPhase{3, running, succeeded} {
						r.move(name, phase)
					}
				}
			})
		}
		streams := make([]*childrenStream, watchers)
		for i := range streams {
			id := r.Root()
			id.Name = fmt.Sprintf("p%d", i%2)
			streams[i] = f.children(id)
			if i%3 == 2 {
				release := streams[i].hold()
				work.Go(release)
			}
		}
		work.Wait()
		for i, s := range streams {
			want := 0
			for range writers {
				want += (perWriter + 1 - i%2) / 2
			}
			s.until(func(all []*enginev1.WatchChildrenResponse) bool { return len(checkOrder(t, all)) == want }, "all ends")
			s.cancel()
		}
	})
}

// checkOrder verifies what holds for every prefix of a stream and returns the children that ended.
func checkOrder(t require.TestingT, all []*enginev1.WatchChildrenResponse) map[string]bool {
	last := map[string]int{}
	ended := map[string]bool{}
	for _, response := range all {
		update := response.GetMessage().GetActionUpdate()
		if update == nil {
			continue
		}
		name := update.GetActionId().GetName()
		require.False(t, ended[name], "nothing follows the end of %s: %v", name, told(all))
		now := rank(update.GetPhase()) + 1
		require.Greater(t, now, last[name], "%s goes back: %v", name, told(all))
		last[name] = now
		if update.GetPhase() == succeeded {
			ended[name] = true
		}
	}
	return ended
}
