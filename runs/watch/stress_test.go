package watch_test

import (
	"testing"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle/lifecycletest"
	"github.com/flyte-binary/flyte-binary/runs/watch"
)

func TestHubKeepsTheContractOfParts(t *testing.T) {
	lifecycletest.Stress(t, func() lifecycle.Part {
		return watch.NewHub(watch.DefaultConfig(), watch.HubDeps{Clock: clock.System{}, Logger: zerolog.Nop()})
	})
}
