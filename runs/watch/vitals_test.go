package watch_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/runs/watch"
)

func TestVitalsSayHowFarStreamsAreBehind(t *testing.T) {
	f := newFixture(t, withConfig(func(c *watch.Config) { c.Poll = time.Hour }))
	vitals := func() watch.Vitals {
		v, err := f.hub.Vitals(t.Context())
		require.NoError(t, err)
		return v
	}
	require.Zero(t, vitals())
	r := f.run("p", "development", "r1")
	s := f.children(r.Root())
	s.count(1)
	require.Equal(t, watch.Vitals{Followed: 1, Subscribers: 1}, vitals())

	f.wake.Store(false) // and no one notifies
	r.child("x")
	require.Positive(t, vitals().Behind)
	f.hub.WakeAll()
	s.until(endsWith("x:1"), "a change that came late")
	require.Zero(t, vitals().Behind)
}
