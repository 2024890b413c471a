// Package absences records for people that clusters were away and were lost. What happens to the work of such clusters is decided
// elsewhere.
package absences

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/clusters/states"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/leased"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

const (
	// every is how often the clusters are looked at.
	every = 2 * time.Second
	// settle is for how long they are watched before an absence is recorded: after the API was down, controllers need time to connect.
	settle = 20 * time.Second
	// gap is the longest time between two looks after which watching counts as without a gap.
	gap = 3*every + 5*time.Second
)

// Clusters says what is known about each cluster; states.Reader does.
type Clusters interface {
	All(ctx context.Context) ([]states.State, error)
}

// Store records absences; store.Store does.
type Store interface {
	// NoteAbsence records that a cluster was silent for longer than a time, once for each absence. lost says that its work is given up.
	NoteAbsence(ctx context.Context, cluster string, silence time.Duration, lost bool) error
}

// Deps are the dependencies of the loop. All but LostAfter are required.
type Deps struct {
	Clusters Clusters
	Store    Store
	// LostAfter is how long a cluster is away before its work is given up; 0 for never.
	LostAfter time.Duration
	Clock     clock.Clock
	Logger    zerolog.Logger
}

// Loop records absences. Every replica of the API runs it.
type Loop struct {
	lifecycle.Background
	deps        Deps
	begun, last time.Time       // when watching began without a gap, and the last look
	noted       map[string]note // what was recorded, so that it is not tried again
}

// note is what this process has recorded of an absence.
type note struct{ away, lost bool }

// New returns the loop; it does nothing before Start.
func New(deps Deps) *Loop { return &Loop{deps: deps, noted: map[string]note{}} }

// Start implements lifecycle.Part.
func (l *Loop) Start(ctx context.Context) error {
	watch := leased.Every(l.deps.Clock, every, l.look)
	return l.Run(l.deps.Logger.WithContext(ctx), func(ctx context.Context) { _ = watch(ctx) }) // it ends with the context alone
}

// look records the absences that have begun.
func (l *Loop) look(ctx context.Context) error {
	all, err := l.deps.Clusters.All(ctx)
	if err != nil {
		return err //nolint:wrapcheck // it says what it could not read
	}
	now := l.deps.Clock.Now()
	passed := now.Sub(l.last)
	// A gap says nothing about clusters: the process or the database stood still, or the clock was set.
	if l.last.IsZero() || passed < 0 || passed > gap {
		l.begun = now
	}
	l.last = now
	settled := now.Sub(l.begun) >= settle
	for _, one := range all {
		if !one.Away(now) || one.State == states.Removed {
			delete(l.noted, one.Name)
		} else if settled {
			if err := l.note(ctx, one, now); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *Loop) note(ctx context.Context, one states.State, now time.Time) error {
	noted := l.noted[one.Name]
	if !noted.away {
		if err := l.deps.Store.NoteAbsence(ctx, one.Name, states.Silence, false); err != nil {
			return err //nolint:wrapcheck // it says what it could not write
		}
		noted.away = true
	}
	if !noted.lost && l.deps.LostAfter > 0 && now.Sub(one.SeenAt) > l.deps.LostAfter {
		if err := l.deps.Store.NoteAbsence(ctx, one.Name, l.deps.LostAfter, true); err != nil {
			return err //nolint:wrapcheck // it says what it could not write
		}
		noted.lost = true
	}
	l.noted[one.Name] = noted
	return nil
}
