package lifecycletest_test

import (
	"context"
	"testing"

	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle/lifecycletest"
)

type loop struct{ lifecycle.Background }

func (l *loop) Start(ctx context.Context) error {
	return l.Run(ctx, func(ctx context.Context) { <-ctx.Done() }, func(context.Context) {})
}

func TestBackgroundKeepsTheContract(t *testing.T) {
	lifecycletest.Stress(t, func() lifecycle.Part { return &loop{} })
}
