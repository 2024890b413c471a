package runs

import (
	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/work/leased"
	"github.com/flyte-binary/flyte-binary/runs/store/measured"
	"github.com/flyte-binary/flyte-binary/runs/stored"
)

// newStored makes what measures the object store, and what refuses runs and uploads by it.
func (l *loops) newStored(config stored.Config, deps Deps, leases leased.Leases, logger zerolog.Logger) error {
	meters, err := stored.NewMeters(l.meters.meter)
	if err != nil {
		return err
	}
	rows := measured.New(deps.Pool)
	l.stored = stored.NewGuard(config, rows, deps.Blobs, meters, deps.Clock)
	l.measurer = stored.NewMeasurer(config, stored.Deps{Rows: rows, Blobs: deps.Blobs, Leases: leases, Meters: meters, Clock: deps.Clock, Logger: logger})
	return stored.RegisterGauges(config, rows, deps.Clock, l.meters.meter)
}
