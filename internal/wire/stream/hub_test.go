package stream_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
)

func TestASubscriptionCollectsWhatChangesUntilItIsTaken(t *testing.T) {
	var hub stream.Hub[[]int]
	hub.Broadcast(func(*[]int) { require.Fail(t, "there is no subscription yet") })
	one, other := hub.Subscribe(), hub.Subscribe()
	for i := range 3 {
		hub.Broadcast(func(c *[]int) { *c = append(*c, i) })
	}
	require.Len(t, one.Ready(), 1, "one token for all")
	require.Equal(t, []int{0, 1, 2}, one.Take())
	require.Empty(t, one.Take())
	require.Equal(t, []int{0, 1, 2}, other.Take())

	one.Close()
	hub.Broadcast(func(c *[]int) { *c = append(*c, 3) })
	require.Empty(t, one.Take())
	require.Equal(t, []int{3}, other.Take())
}

// No change is lost between a token and the next.
func TestASubscriptionLosesNothing(t *testing.T) {
	const writers, each = 4, 500
	var hub stream.Hub[int]
	s := hub.Subscribe()
	defer s.Close()
	var writing sync.WaitGroup
	for range writers {
		writing.Go(func() {
			for range each {
				hub.Broadcast(func(n *int) { *n++ })
			}
		})
	}
	for total := 0; total < writers*each; total += s.Take() {
		<-s.Ready()
	}
	writing.Wait()
}
