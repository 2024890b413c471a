package runs

import (
	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/lifecycle"
	"github.com/flyte-binary/flyte-binary/runs/artifactlink"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// newArtifacts returns the loop that has declared artifacts registered. Without a registry their outputs wait in the list.
func newArtifacts(config artifactlink.Config, deps Deps, leases artifactlink.Leases, logger zerolog.Logger) (lifecycle.Part, error) {
	if deps.Artifacts == nil {
		return lifecycle.Idle{}, nil
	}
	return artifactlink.New(config, artifactlink.Deps{
		List: store.NewProduced(deps.Pool), Registry: deps.Artifacts, Leases: leases, Clock: deps.Clock, Logger: logger, Meter: deps.Meter,
	})
}
