package manager

import (
	"context"

	"github.com/flyte-binary/flyte-binary/access"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

func buildAccess(_ context.Context, p *process) (lifecycle.Part, error) {
	service, err := access.New(p.config.Access, access.Deps{
		Pool: p.pool, Listener: p.notices, Clock: p.clock, Logger: p.log, Meter: p.telemetry.Meter,
	})
	if err != nil {
		return nil, err
	}
	service.Mount(p.mux)
	if people := service.Authenticator(); people != nil {
		p.mux.Trust(people)
	}
	return service, nil
}
