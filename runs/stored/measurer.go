// Package stored measures how many bytes each project and each caller has in the object store, by listing its objects, and refuses new runs
// and uploads of those that have more than they may. The number is as old as its measurement: docs/decisions/limit-of-stored-bytes.md says what
// counts and what does not.
package stored

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/text/clip"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/failpoint"
	"github.com/flyte-binary/flyte-binary/internal/work/leased"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/runs/store/measured"
)

// LeaseName is the lease of the replica that measures.
const LeaseName = "stored bytes"

const (
	// saveEvery is after how many pages the place in a listing is stored. A process that dies repeats no more than these.
	saveEvery = 10
	// doneMark ends the place of a listing that has done a prefix.
	doneMark = "/"
	// maxFailure bounds the text of a failure.
	maxFailure = 500
	// maxPause bounds the time between two looks for projects that are due.
	maxPause = time.Minute
)

// Rows has the measurements; measured.Store is one.
type Rows interface {
	All(ctx context.Context) ([]measured.Row, error)
	Begin(ctx context.Context, project string, now time.Time) (measured.Listing, error)
	Advance(ctx context.Context, project string, from, to measured.Listing, seen map[string]int64) error
	Finish(ctx context.Context, project string, l measured.Listing) error
	Fail(ctx context.Context, project string, l measured.Listing, now time.Time, why string) error
	Prefixes(ctx context.Context, project string) ([]string, error)
	// ProjectsOf are those in which callers have data who have a number of bytes or more.
	ProjectsOf(ctx context.Context, bytes int64) (map[string]bool, error)
	Owners
}

// Blobs is the object store, with the errors of blobstore.
type Blobs interface {
	// Root is the prefix of all URIs, without a trailing slash.
	Root() string
	// Measure visits the pages, of at most size objects, of a listing below a directory.
	Measure(ctx context.Context, uri, after string, size int, visit func(blobstore.Page) error) error
}

// Deps are the dependencies of the measurer. All are required.
type Deps struct {
	Rows   Rows
	Blobs  Blobs
	Leases leased.Leases
	Meters *Meters
	Clock  clock.Clock
	Logger zerolog.Logger
}

// Measurer is the loop that measures, one project after the other.
type Measurer struct {
	lifecycle.Background
	config Config
	deps   Deps
}

var _ lifecycle.Part = (*Measurer)(nil)

// NewMeasurer returns a loop; it measures nothing before Start.
func NewMeasurer(config Config, deps Deps) *Measurer { return &Measurer{config: config, deps: deps} }

// Start implements lifecycle.Part. With no limit and no wish to measure, nothing runs.
func (m *Measurer) Start(ctx context.Context) error {
	if !m.config.on() {
		return nil
	}
	pause := min(maxPause, m.config.NearInterval/4)
	return m.Run(m.deps.Logger.WithContext(ctx),
		leased.While(m.deps.Leases, LeaseName, m.config.Lease, leased.Every(m.deps.Clock, pause, m.Pass)))
}

// Pass measures the projects that are due, those first whose measurement is under way, then those that wait longest. A project that
// cannot be measured does not hold up others.
func (m *Measurer) Pass(ctx context.Context) error {
	rows, err := m.deps.Rows.All(ctx)
	if err != nil {
		return err
	}
	nearCallers := map[string]bool{}
	if most := m.config.CallerBytes; most > 0 {
		if nearCallers, err = m.deps.Rows.ProjectsOf(ctx, most/5*4); err != nil {
			return err
		}
	}
	slices.SortFunc(rows, func(a, b measured.Row) int {
		if under := underWay(a) - underWay(b); under != 0 {
			return under
		}
		return cmp.Or(timeOf(a.MeasuredAt).Compare(timeOf(b.MeasuredAt)), cmp.Compare(a.Project, b.Project))
	})
	var failures []error
	for i := range rows {
		row := &rows[i]
		if ctx.Err() != nil || !m.config.measures(row.Project) || m.deps.Clock.Now().Before(m.config.due(row, nearCallers[row.Project])) {
			continue
		}
		if err := m.measure(ctx, row); err != nil {
			failures = append(failures, err)
		}
	}
	return errors.Join(append(failures, ctx.Err())...)
}

// due is when a project is measured next. nearCaller says that it has data of a caller who is near its limit.
func (c Config) due(row *measured.Row, nearCaller bool) time.Time {
	limit, _ := c.limit(row.Project)
	switch {
	case row.FailedAt != nil:
		return row.FailedAt.Add(c.NearInterval)
	case row.BeganAt != nil || row.MeasuredAt == nil:
		return time.Time{}
	case nearCaller || near(row.Bytes+row.Added, limit):
		return row.MeasuredAt.Add(c.NearInterval)
	default:
		return row.MeasuredAt.Add(c.Interval)
	}
}

// underWay sorts listings under way before others.
func underWay(row measured.Row) int {
	if row.BeganAt != nil {
		return 0
	}
	return 1
}

func timeOf(at *time.Time) time.Time {
	if at == nil {
		return time.Time{}
	}
	return *at
}

// measure lists a project, from where an earlier listing ended.
func (m *Measurer) measure(ctx context.Context, row *measured.Row) error {
	prefixes, err := m.prefixes(ctx, row.Project)
	if err != nil {
		return err
	}
	at := row.Listing
	rest, known := remaining(prefixes, at.Prefix)
	if at.BeganAt == nil || !known {
		rest = prefixes
		if at, err = m.deps.Rows.Begin(ctx, row.Project, m.deps.Clock.Now()); err != nil {
			return err
		}
	}
	l := &listing{
		measurer: m, project: row.Project, saved: at, at: at, seen: map[string]int64{},
		owners: owners{rows: m.deps.Rows, project: row.Project}, uploads: blobpath.ProjectUploads(m.deps.Blobs.Root(), row.Project),
	}
	for _, prefix := range rest {
		if err := l.list(ctx, prefix); err != nil {
			return m.failed(ctx, l, err)
		}
	}
	failpoint.Here("stored.before-finish")
	if err := m.deps.Rows.Finish(ctx, row.Project, l.saved); err != nil {
		return err
	}
	m.deps.Logger.Debug().Str("project", row.Project).Int64("bytes", l.at.SeenBytes).Int64("objects", l.at.SeenObjects).Msg("measured what a project has stored")
	return nil
}

// failed stores the failure of a listing. What the listing has seen stays, unless its place is one that the object store no longer knows.
func (m *Measurer) failed(ctx context.Context, l *listing, err error) error {
	if ctx.Err() != nil || errors.Is(err, measured.ErrSuperseded) {
		return err
	}
	m.deps.Meters.failures.Add(ctx, 1)
	saved := l.saved
	if l.pages == 0 && saved.Token != "" {
		begun, again := m.deps.Rows.Begin(ctx, l.project, m.deps.Clock.Now())
		if again != nil {
			return errors.Join(err, again)
		}
		saved = begun
	}
	return errors.Join(err, m.deps.Rows.Fail(ctx, l.project, saved, m.deps.Clock.Now(), clip.Head(err.Error(), maxFailure)))
}

// prefixes are the directories of a project, none within another, in order.
func (m *Measurer) prefixes(ctx context.Context, project string) ([]string, error) {
	root := m.deps.Blobs.Root()
	prefixes, err := m.deps.Rows.Prefixes(ctx, project)
	if err != nil {
		return nil, err
	}
	prefixes = append(prefixes, blobpath.Project(root, project), blobpath.ProjectUploads(root, project))
	slices.Sort(prefixes)
	all := slices.Compact(prefixes)
	return slices.DeleteFunc(slices.Clone(all), func(inner string) bool {
		return slices.ContainsFunc(all, func(outer string) bool { return strings.HasPrefix(inner, outer+"/") })
	}), nil
}

// remaining are the prefixes that a listing has not done; false for a place that is not in them, as after a change of the
// configuration.
func remaining(prefixes []string, place string) (rest []string, known bool) {
	if place == "" {
		return prefixes, true
	}
	prefix, done := strings.CutSuffix(place, doneMark)
	i := slices.Index(prefixes, prefix)
	switch {
	case i < 0:
		return nil, false
	case done:
		return prefixes[i+1:], true
	default:
		return prefixes[i:], true
	}
}

// listing is one project being listed.
type listing struct {
	measurer *Measurer
	project  string
	// at is where it is, saved what of it is stored.
	at, saved measured.Listing
	pages     int // since this process continued
	// seen is what it has seen since saved, by caller.
	seen   map[string]int64
	owners owners
	// uploads is the directory in which objects belong to who uploaded them.
	uploads string
}

// list lists one prefix, from where at is in it, and stores that it is done.
func (l *listing) list(ctx context.Context, prefix string) error {
	m := l.measurer
	if l.at.Prefix != prefix {
		l.at.Prefix, l.at.Token = prefix, ""
	}
	return m.deps.Blobs.Measure(ctx, prefix, l.at.Token, blobstore.MaxPage, func(page blobstore.Page) error {
		m.deps.Meters.requests.Add(ctx, 1)
		l.pages++
		bytes, err := l.owners.split(ctx, prefix, page.Found, prefix == l.uploads, m.deps.Clock.Now())
		if err != nil {
			return err
		}
		for caller, n := range bytes {
			l.seen[caller] += n
		}
		l.at.SeenPages++
		l.at.SeenBytes += page.Bytes
		l.at.SeenObjects += page.Objects
		l.at.Token = page.Next
		if page.Next == "" {
			l.at.Prefix = prefix + doneMark
		}
		if page.Next == "" || l.at.SeenPages-l.saved.SeenPages >= saveEvery {
			if err := l.save(ctx); err != nil {
				return err
			}
		}
		return clock.Sleep(ctx, m.deps.Clock, time.Second/time.Duration(m.config.RequestsPerSecond))
	})
}

// save stores where the listing is.
func (l *listing) save(ctx context.Context) error {
	if err := l.measurer.deps.Rows.Advance(ctx, l.project, l.saved, l.at, l.seen); err != nil {
		return err
	}
	l.saved = l.at
	clear(l.seen)
	failpoint.Here("stored.page")
	return nil
}
