package access

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access/sessions"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// TestKeysFollowTheWordOfTheProxy: the groups of a person are written when they change, not with every call, and an old token that is sent again
// does not bring groups back.
func TestKeysFollowTheWordOfTheProxy(t *testing.T) {
	clk := clock.NewFake(time.Now())
	var mu sync.Mutex
	var written [][]string
	var failure error
	o, err := newOwners(func(_ context.Context, subject string, groups []string) error {
		mu.Lock()
		defer mu.Unlock()
		require.Equal(t, "ada", subject)
		written = append(written, groups)
		return failure
	}, clk)
	require.NoError(t, err)
	first := clk.Now()
	say := func(at time.Time, groups ...string) {
		o.saw(t.Context(), sessions.Person{Subject: "ada", Groups: groups, SaidAt: at})
	}
	var calls sync.WaitGroup
	for range 50 {
		calls.Go(func() { say(first, "a", "b") })
	}
	calls.Wait()
	say(first, "b", "a", "b")
	require.Equal(t, [][]string{{"a", "b"}}, written, "once, whatever the order")
	clk.Step(ownerPause)
	say(clk.Now(), "b")
	require.Len(t, written, 2)
	clk.Step(ownerPause)
	say(first, "a", "b")
	require.Len(t, written, 2, "an older word")
	clk.Step(ownerAgain)
	say(clk.Now(), "b")
	require.Len(t, written, 3, "another replica may have written others")
	failure = errors.New("the database is away")
	clk.Step(ownerPause)
	say(clk.Now(), "c")
	say(clk.Now(), "c")
	require.Len(t, written, 4, "callers do not wait for it again and again")
	clk.Step(ownerPause)
	failure = nil
	say(clk.Now(), "c")
	require.Len(t, written, 5)
}
