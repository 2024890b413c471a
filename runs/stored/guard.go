package stored

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/store/measured"
)

const (
	// readAge is how long a measurement that was read counts before it is read again.
	readAge = 2 * time.Second
	// soon is when a refused caller tries again while a measurement is under way or due.
	soon = 10 * time.Second
	// maxKnown bounds the projects and the prefixes that are remembered.
	maxKnown = 10_000
)

// GuardRows has the measurements; measured.Store is one.
type GuardRows interface {
	Get(ctx context.Context, project string) (measured.Row, error)
	Add(ctx context.Context, project string, bytes int64) error
	AddPrefix(ctx context.Context, project, prefix string) error
}

// Places knows the object store; blobstore.Store is one.
type Places interface {
	Root() string
	// Canonical is the one form of a URI; it returns blobstore.ErrForbiddenPath for a URI outside of the store.
	Canonical(uri string) (string, error)
}

// Guard refuses what would add to the data of a project that has stored as much as it may. It is safe for concurrent use.
type Guard struct {
	config Config
	rows   GuardRows
	places Places
	meters *Meters
	clock  clock.Clock

	mu       sync.Mutex
	known    map[string]read    // GUARDED_BY(mu), by project
	prefixes map[[2]string]bool // GUARDED_BY(mu): project and prefix that are stored
}

// read is a measurement and when it was read.
type read struct {
	row measured.Row
	at  time.Time
}

// NewGuard returns a guard that has read nothing.
func NewGuard(config Config, rows GuardRows, places Places, meters *Meters, clk clock.Clock) *Guard {
	return &Guard{config: config, rows: rows, places: places, meters: meters, clock: clk, known: map[string]read{}, prefixes: map[[2]string]bool{}}
}

// EnterRun returns an error when a project has stored as much as it may, so that it gets no new runs. bases are the directories below
// which the run writes; empty ones are the root of the object store. They are measured from now on.
func (g *Guard) EnterRun(ctx context.Context, project string, bases ...string) error {
	if !g.config.measures(project) {
		return nil
	}
	if err := g.enter(ctx, project, 0, "run"); err != nil {
		return err
	}
	for _, base := range bases {
		if err := g.remember(ctx, project, base); err != nil {
			return err
		}
	}
	return nil
}

// EnterUpload returns an error when a project has stored as much as it may, or would with an upload of a size; 0 is a size that is not
// known. arrived is what was uploaded before and is not counted yet. followed says that the caller should count what arrives.
func (g *Guard) EnterUpload(ctx context.Context, project string, size, arrived int64) (followed bool, err error) {
	if !g.config.measures(project) {
		return false, nil
	}
	if arrived != 0 {
		if err := g.rows.Add(ctx, project, arrived); err != nil {
			return false, err
		}
		g.forget(project)
	}
	return true, g.enter(ctx, project, size, "upload")
}

// Use is what a project has stored; false where nothing is measured.
func (g *Guard) Use(ctx context.Context, project string) (Use, bool, error) {
	if !g.config.measures(project) {
		return Use{}, false, nil
	}
	row, err := g.row(ctx, project)
	if err != nil {
		return Use{}, false, err
	}
	return g.config.use(&row, g.clock.Now()), true, nil
}

// enter judges by the last measurement. One that is missing or too old refuses nothing: its callers could not change anything.
func (g *Guard) enter(ctx context.Context, project string, size int64, what string) error {
	use, measured, err := g.Use(ctx, project)
	if err != nil || !measured || use.Most == 0 || use.state == missing || use.state == old || use.Used+size <= use.Most && use.state != above {
		return err
	}
	g.meters.refuse(ctx, what)
	now := g.clock.Now()
	wait := soon
	if use.Next.After(now) {
		wait = max(time.Second, use.Next.Sub(now).Round(time.Second))
	}
	at := use.MeasuredAt.UTC().Format(time.RFC3339)
	if use.state != above {
		return rpc.TryLater(wait, "the file has %d bytes, and project %s has %d of at most %d bytes in the object store as measured at %s (%s); "+
			"delete data of the project, or let runs.retention delete old runs, and try again after the next measurement, in %s",
			size, project, use.Used, use.Most, at, use.Setting, wait)
	}
	return rpc.TryLater(wait, "project %s has %d bytes in the object store, measured at %s, and may have %d (%s); "+
		"delete data of the project, or let runs.retention delete old runs, and try again after the next measurement, in %s",
		project, use.Used, at, use.Most, use.Setting, wait)
}

// row reads a measurement, at most once in readAge.
func (g *Guard) row(ctx context.Context, project string) (measured.Row, error) {
	now := g.clock.Now()
	g.mu.Lock()
	known, found := g.known[project]
	g.mu.Unlock()
	if found && now.Sub(known.at) < readAge {
		return known.row, nil
	}
	row, err := g.rows.Get(ctx, project)
	if err != nil {
		return measured.Row{}, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.known) >= maxKnown {
		clear(g.known)
	}
	g.known[project] = read{row, now}
	return row, nil
}

func (g *Guard) forget(project string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.known, project)
}

// remember stores a prefix of a project that is not among those that are always measured. A base in another bucket is not measured.
func (g *Guard) remember(ctx context.Context, project, base string) error {
	if base == "" {
		return nil
	}
	prefix, err := g.places.Canonical(blobpath.Project(base, project))
	if errors.Is(err, blobstore.ErrForbiddenPath) || strings.HasPrefix(prefix+"/", blobpath.Project(g.places.Root(), project)+"/") {
		return nil
	}
	if err != nil {
		return err
	}
	key := [2]string{project, prefix}
	g.mu.Lock()
	stored := g.prefixes[key]
	g.mu.Unlock()
	if stored {
		return nil
	}
	if err := g.rows.AddPrefix(ctx, project, prefix); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.prefixes) >= maxKnown {
		clear(g.prefixes)
	}
	g.prefixes[key] = true
	return nil
}
