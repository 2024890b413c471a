package change

import (
	"context"

	"github.com/flyte-binary/flyte-binary/runs/cachelink"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/timers"
)

// WakeWriter stores due work; store.Writer does.
type WakeWriter interface {
	Wake(ctx context.Context, due []store.Wake, grace store.ExecutorGrace) (int, error)
}

// Waker stores due work, after it has published the outputs of the built-in actions that succeed by it. Both fields
// are required.
type Waker struct {
	Cache  Cache
	Writer WakeWriter
}

var _ timers.Writer = (*Waker)(nil)

// Wake implements timers.Writer.
func (w *Waker) Wake(ctx context.Context, due []store.Wake, grace store.ExecutorGrace) (int, error) {
	var successes []cachelink.Success
	var at []int
	for i := range due {
		d := &due[i]
		if d.Due == schema.DueEnd || d.Start != nil && d.Start.Postpone == 0 && d.Start.Failure == nil && d.Start.Lasts <= 0 {
			successes, at = append(successes, cachelink.Success{Action: d.Ident()}), append(at, i)
		}
	}
	published, err := w.Cache.Publish(ctx, successes)
	if err != nil {
		return 0, err
	}
	for i, p := range published {
		due[at[i]].CacheStatus, due[at[i]].CacheReason = int16(p.Status), p.Reason //nolint:gosec // an enum of few values
	}
	return w.Writer.Wake(ctx, due, grace)
}
