package runs

import (
	"context"

	"github.com/flyte-binary/flyte-binary/internal/lifecycle"
)

// seeder is the part that makes the configured projects when the service starts.
type seeder struct{ svc *Service }

var _ lifecycle.Part = seeder{}

// Start implements lifecycle.Part.
func (s seeder) Start(ctx context.Context) error {
	return s.svc.projects.Seed(ctx, s.svc.config.SeedProjects, s.svc.clock.Now())
}

// Stop implements lifecycle.Part.
func (seeder) Stop(context.Context) error { return nil }
