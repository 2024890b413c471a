package gateway_test

import (
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/apps/gateway"
)

// TestAClusterIsLostUnderLoad: requests go to the near cluster while it is there. When it dies in the middle of them, no request that may
// be repeated fails, and when it is back, it gets them again.
func TestAClusterIsLostUnderLoad(t *testing.T) {
	east, west := newMortal(t, "127.0.0.1:0"), newMortal(t, "127.0.0.1:0")
	both := route("one", west.address, east.address)
	both.Targets[0].Cluster, both.Targets[1].Cluster = "west", "east"
	f := start(t, newApps(both), options{config: func(c *gateway.Config) { c.Near = []string{"east"} }})
	client := &http.Client{Transport: transport(t, false)}
	ctx, cancel := context.WithCancel(t.Context())
	var sent, failed atomic.Int64
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for ctx.Err() == nil {
				response, err := client.Get(f.url + "/apps/p/d/one/")
				if err == nil {
					_, err = io.ReadAll(response.Body)
					response.Body.Close()
				}
				if err != nil || response.StatusCode != http.StatusOK {
					failed.Add(1)
				}
				sent.Add(1)
			}
		})
	}
	more := func(count int64) {
		until := sent.Load() + count
		require.Eventually(t, func() bool { return sent.Load() > until }, time.Minute, time.Millisecond)
	}
	more(100)
	require.Zero(t, west.seen.Load(), "the near cluster has them all")
	for range 5 {
		before := west.seen.Load()
		east.kill()
		more(100)
		require.Greater(t, west.seen.Load(), before)
		east = newMortal(t, east.address)
		require.Eventually(t, func() bool { return east.seen.Load() > 0 }, time.Minute, time.Millisecond, "it gets requests again")
	}
	cancel()
	group.Wait()
	t.Logf("%d requests", sent.Load())
	require.Zero(t, failed.Load())
}
