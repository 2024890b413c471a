package runs

import (
	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/leased"
	"github.com/flyte-binary/flyte-binary/internal/lifecycle"
	"github.com/flyte-binary/flyte-binary/runs/artifactlink"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// newArtifacts returns the loops that have declared artifacts registered and uses of artifacts found. Without a registry
// outputs and inputs wait in their lists.
func newArtifacts(config artifactlink.Config, deps Deps, leases leased.Leases, logger zerolog.Logger) (lifecycle.Part, error) {
	if deps.Artifacts == nil {
		return lifecycle.Idle{}, nil
	}
	outputs, err := artifactlink.New(config, artifactlink.Deps{
		List: store.NewProduced(deps.Pool), Registry: deps.Artifacts, Leases: leases, Clock: deps.Clock, Logger: logger, Meter: deps.Meter,
	})
	inputs := artifactlink.NewUseLoop(config, artifactlink.UseDeps{
		List: store.NewUnread(deps.Pool), Finder: deps.Artifacts, Leases: leases, Clock: deps.Clock, Logger: logger,
	})
	return lifecycle.NewGroup(lifecycle.Named{Name: "outputs", Part: outputs}, lifecycle.Named{Name: "inputs", Part: inputs}), err
}
