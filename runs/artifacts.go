package runs

import (
	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/work/leased"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/runs/artifactlink"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// artifactLoops have declared artifacts registered and uses of artifacts found.
type artifactLoops struct {
	lifecycle.Part
	outputs *artifactlink.Loop // nil without a registry
}

// newArtifacts returns the loops. Without a registry outputs and inputs wait in their lists.
func newArtifacts(config artifactlink.Config, deps Deps, leases leased.Leases, logger zerolog.Logger) (*artifactLoops, error) {
	if deps.Peers.Artifacts == nil {
		return &artifactLoops{Part: lifecycle.Idle{}}, nil
	}
	outputs, err := artifactlink.New(config, artifactlink.Deps{
		List: worklists.NewProduced(deps.Pool), Registry: deps.Peers.Artifacts, Leases: leases, Clock: deps.Clock, Logger: logger, Meter: deps.Meter,
	})
	inputs := artifactlink.NewUseLoop(config, artifactlink.UseDeps{
		List: worklists.NewUnread(deps.Pool), Finder: deps.Peers.Artifacts, Leases: leases, Clock: deps.Clock, Logger: logger,
	})
	group := lifecycle.NewGroup(lifecycle.Named{Name: "outputs", Part: outputs}, lifecycle.Named{Name: "inputs", Part: inputs})
	return &artifactLoops{Part: group, outputs: outputs}, err
}
