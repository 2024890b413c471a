package manager

import (
	"context"

	"github.com/flyte-binary/flyte-binary/clusters"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

// buildClusters makes the registry of clusters. Their controllers are known in an open installation, too: what a controller may call
// is closed to everybody else there.
func buildClusters(_ context.Context, p *process) (lifecycle.Part, error) {
	service, err := clusters.New(clusters.Deps{Pool: p.pool, Listener: p.notices, Clock: p.clock, Logger: p.log})
	if err != nil {
		return nil, err
	}
	service.Mount(p.mux)
	p.mux.Trust(service.Authenticator())
	return service, nil
}
