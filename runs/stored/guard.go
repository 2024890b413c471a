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

// soon is when a refused caller tries again while a measurement is under way or due.
const soon = 10 * time.Second

// GuardRows has the measurements; measured.Store is one.
type GuardRows interface {
	Get(ctx context.Context, project string) (measured.Row, error)
	OfCaller(ctx context.Context, caller string) ([]measured.Part, error)
	Add(ctx context.Context, project string, of map[string]int64) error
	AddUpload(ctx context.Context, project, uri, caller string, now time.Time) error
	AddPrefix(ctx context.Context, project, prefix string) error
}

// Places knows the object store; blobstore.Store is one.
type Places interface {
	Root() string
	// Canonical is the one form of a URI; it returns blobstore.ErrForbiddenPath for a URI outside of the store.
	Canonical(uri string) (string, error)
}

// Guard refuses what would add to the data of a project, or of a caller, that has stored as much as it may. It is safe for concurrent use.
type Guard struct {
	config Config
	rows   GuardRows
	places Places
	meters *Meters
	clock  clock.Clock

	projects recent[measured.Row]
	callers  recent[[]measured.Part]

	mu       sync.Mutex
	prefixes map[[2]string]bool // GUARDED_BY(mu): project and prefix that are stored
}

// NewGuard returns a guard that has read nothing.
func NewGuard(config Config, rows GuardRows, places Places, meters *Meters, clk clock.Clock) *Guard {
	return &Guard{config: config, rows: rows, places: places, meters: meters, clock: clk, prefixes: map[[2]string]bool{}}
}

// EnterRun returns an error when a project, or the caller whose run it is, has stored as much as it may, so that it gets no new runs.
// caller is the subject that creates it. bases are the directories below which the run writes; empty ones are the root of the
// object store. They are measured from now on.
func (g *Guard) EnterRun(ctx context.Context, project, caller string, bases ...string) error {
	if !g.config.measures(project) {
		return nil
	}
	if err := g.enter(ctx, project, Owner(caller), 0, "run"); err != nil {
		return err
	}
	for _, base := range bases {
		if err := g.remember(ctx, project, base); err != nil {
			return err
		}
	}
	return nil
}

// Upload is an upload that is about to be allowed.
type Upload struct {
	// Project has it. Caller asks for it; empty if it counts for the project alone.
	Project, Caller string
	// URI is where the object will be; empty if the caller says it later.
	URI string
	// Size is 0 if it is not known.
	Size int64
	// Arrived is what was uploaded before and is not counted yet, by caller.
	Arrived map[string]int64
}

// EnterUpload returns an error when a project or a caller has stored as much as it may, or would with an upload. followed says that the
// caller should count what arrives.
func (g *Guard) EnterUpload(ctx context.Context, u Upload) (followed bool, err error) {
	if !g.config.measures(u.Project) {
		return false, nil
	}
	if len(u.Arrived) > 0 {
		if err := g.rows.Add(ctx, u.Project, u.Arrived); err != nil {
			return false, err
		}
		g.projects.forget(u.Project)
		for caller := range u.Arrived {
			g.callers.forget(caller)
		}
	}
	if err := g.enter(ctx, u.Project, u.Caller, u.Size, "upload"); err != nil {
		return true, err
	}
	if u.Caller == "" || u.URI == "" {
		return true, nil
	}
	uri, err := g.places.Canonical(u.URI)
	if errors.Is(err, blobstore.ErrForbiddenPath) { // it is not measured
		return true, nil
	}
	if err != nil {
		return true, err
	}
	return true, g.rows.AddUpload(ctx, u.Project, uri, u.Caller, g.clock.Now())
}

// Use is what a project has stored; false where nothing is measured.
func (g *Guard) Use(ctx context.Context, project string) (Use, bool, error) {
	if !g.config.measures(project) {
		return Use{}, false, nil
	}
	now := g.clock.Now()
	row, err := g.projects.get(project, now, func() (measured.Row, error) { return g.rows.Get(ctx, project) })
	if err != nil {
		return Use{}, false, err
	}
	return g.config.use(&row, now), true, nil
}

// enter judges a project and a caller.
func (g *Guard) enter(ctx context.Context, project, caller string, size int64, what string) error {
	if err := g.enterProject(ctx, project, size, what); err != nil {
		return err
	}
	return g.enterCaller(ctx, caller, size, what)
}

// enterProject judges by the last measurement. One that is missing or too old refuses nothing: its callers could not change anything.
func (g *Guard) enterProject(ctx context.Context, project string, size int64, what string) error {
	use, measured, err := g.Use(ctx, project)
	if err != nil || !measured || use.Most == 0 || use.state == missing || use.state == old || use.Used+size <= use.Most && use.state != above {
		return err
	}
	g.meters.refuse(ctx, what, "project")
	wait := waitFor(use.Next, g.clock.Now())
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
