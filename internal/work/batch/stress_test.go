package batch_test

import (
	"context"
	"testing"

	"github.com/flyte-binary/flyte-binary/internal/work/batch"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle/lifecycletest"
)

func TestBatcherKeepsTheContractOfParts(t *testing.T) {
	lifecycletest.Stress(t, func() lifecycle.Part {
		b := batch.New(batch.Config[int, int]{MaxWeight: 2, Flush: func(_ context.Context, items []*batch.Item[int, int]) {
			for _, item := range items {
				item.Answer(item.Value, nil)
			}
		}})
		for i := range 5 { // callers come while it starts and stops
			go func() { _, _ = b.Submit(context.Background(), i) }()
		}
		return b
	})
}
