package manager

import (
	"context"

	"github.com/flyte-binary/flyte-binary/connectors"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

// buildConnectors makes what runs tasks in other systems.
func buildConnectors(_ context.Context, p *process) (lifecycle.Part, error) {
	service, err := connectors.New(p.config.Connectors, connectors.Deps{
		Pool: p.pool, Listener: p.notices, Engine: p.peers.engine(), Sink: p.events.Sink(), Store: p.blobs, Secrets: p.peers.secretValues(),
		Clock: p.clock, Logger: p.log, Meter: p.telemetry.Meter, LegacyEnv: p.config.Executor.Pod.LegacyEnv,
	})
	if err != nil {
		return nil, err
	}
	service.Mount(p.mux)
	return service, nil
}
