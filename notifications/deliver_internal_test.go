package notifications

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

func TestATryOutlivesTheLoopByAGrace(t *testing.T) {
	fake := clock.NewFake(time.Unix(0, 0))
	l := &deliverer{clock: fake}
	ctx, stop := context.WithCancel(t.Context())
	calling, done := l.outlive(ctx)
	defer done()
	stop()
	require.Eventually(t, func() bool { return fake.Timers() == 1 }, 10*time.Second, time.Millisecond)
	require.NoError(t, calling.Err())
	fake.Step(stopGrace)
	<-calling.Done()
}
