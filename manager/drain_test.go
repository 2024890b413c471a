package manager_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager"
)

// TestAStoppingProcessServesWhileItDrains: readiness fails at once, so that no one new comes, and calls are answered until
// the delay is over.
func TestAStoppingProcessServesWhileItDrains(t *testing.T) {
	config := apiConfig(t)
	config.Server.DrainDelay = drainFor
	pace := &drainClock{fires: make(chan time.Time)}
	server, err := manager.Complete(t.Context(), config, manager.Options{Logger: zerolog.Nop(), Clock: pace})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	url := "http://" + server.Addr()
	ready := func() (int, string) {
		response, err := http.Get(url + "/readyz")
		if err != nil {
			return 0, err.Error()
		}
		defer response.Body.Close()
		return response.StatusCode, response.Status
	}
	require.Eventually(t, func() bool { code, _ := ready(); return code == http.StatusOK }, time.Minute, 10*time.Millisecond)

	stop()
	require.Eventually(t, func() bool { code, _ := ready(); return code == http.StatusServiceUnavailable }, time.Minute, 10*time.Millisecond)
	require.NoError(t, createRun(t, workflowconnect.NewRunServiceClient(http.DefaultClient, url), runOf("flytesnacks", "late")))
	pace.fires <- time.Time{}
	require.NoError(t, <-ended)
	code, _ := ready()
	require.Zero(t, code, "the port is closed")
}

const drainFor = 61 * time.Minute // no other timer is that long

// drainClock is the system's clock, but for timers of drainFor, which a test fires.
type drainClock struct {
	clock.System
	fires chan time.Time
}

func (c *drainClock) NewTimer(d time.Duration) clock.Timer {
	if d != drainFor {
		return c.System.NewTimer(d)
	}
	return drainTimer{c.System.NewTimer(d), c.fires}
}

type drainTimer struct {
	clock.Timer
	fires chan time.Time
}

func (t drainTimer) C() <-chan time.Time { return t.fires }
