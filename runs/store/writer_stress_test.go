package store_test

import (
	"testing"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle/lifecycletest"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

func TestWriterKeepsTheContractOfParts(t *testing.T) {
	lifecycletest.Stress(t, func() lifecycle.Part {
		return store.NewWriter(store.DefaultWriterConfig(), store.WriterDeps{Clock: clock.System{}, Logger: zerolog.Nop()})
	})
}
