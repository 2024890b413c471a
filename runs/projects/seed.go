package projects

import (
	"context"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

// Seeding creates projects that do not exist; catalog.Projects does.
type Seeding interface {
	Seed(ctx context.Context, ids []string, now time.Time) error
}

// Seeder creates the configured projects when the service starts.
type Seeder struct {
	Store Seeding
	IDs   []string
	Clock clock.Clock
}

var _ lifecycle.Part = Seeder{}

// Start implements lifecycle.Part.
func (s Seeder) Start(ctx context.Context) error { return s.Store.Seed(ctx, s.IDs, s.Clock.Now()) }

// Stop implements lifecycle.Part.
func (Seeder) Stop(context.Context) error { return nil }
