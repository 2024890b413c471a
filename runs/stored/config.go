package stored

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
)

// Config limits the bytes that projects and callers have in the object store. decisions/limit-of-stored-bytes.md says what counts.
type Config struct {
	// ProjectBytes is how much a project may have stored when a run is created or a file is uploaded. Defaults to 0, no limit.
	ProjectBytes int64 `config:"projectBytes"`
	// Projects have limits of their own. In the environment and in overrides a project is one line, as in "protein-folding
	// bytes=5000000000000".
	Projects []Project `config:"projects"`
	// CallerBytes is how much the runs and uploads of a person or an API key may have stored, in all projects together, when it creates
	// a run or uploads a file. All projects are measured then. What tasks create and upload counts for their project alone. Defaults to
	// 0, no limit.
	CallerBytes int64 `config:"callerBytes"`
	// Measure measures all projects, whether they have a limit or not. Otherwise only those with a limit are measured. Default false.
	Measure bool `config:"measure"`
	// Interval is the time from the beginning of one measurement of a project to the next. Default 6h.
	Interval time.Duration `config:"interval"`
	// NearInterval is that of a project which has stored four fifths of its limit or more. Default 15m.
	NearInterval time.Duration `config:"nearInterval"`
	// RequestsPerSecond is how many requests are sent to the object store. Each lists at most 1,000 objects. Default 10.
	RequestsPerSecond int `config:"requestsPerSecond"`
	// Lease is how long the one replica that measures may be silent before another takes over. Default 30s.
	Lease time.Duration `config:"lease"`
}

// Project is a limit of one project.
type Project struct {
	// Project is its id.
	Project string `config:"project"`
	// Bytes is how much it may have stored; 0 means no limit.
	Bytes int64 `config:"bytes"`
}

// UnmarshalText reads a limit in one line, as in "protein-folding bytes=5000000000000". It is the form of the environment and of
// overrides.
func (p *Project) UnmarshalText(text []byte) error {
	words := strings.Fields(string(text))
	if len(words) != 2 || !strings.HasPrefix(words[1], "bytes=") {
		return fmt.Errorf("a limit of stored bytes has a project and bytes, as in \"protein-folding bytes=5000000000000\"")
	}
	bytes, err := strconv.ParseInt(strings.TrimPrefix(words[1], "bytes="), 10, 64)
	if err != nil {
		return fmt.Errorf("bytes of project %s is a number, got %q", words[0], strings.TrimPrefix(words[1], "bytes="))
	}
	*p = Project{Project: words[0], Bytes: bytes}
	return nil
}

// DefaultConfig limits nothing and measures nothing.
func DefaultConfig() Config {
	return Config{Interval: 6 * time.Hour, NearInterval: 15 * time.Minute, RequestsPerSecond: 10, Lease: 30 * time.Second}
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.ProjectBytes < 0, "projectBytes: must not be negative, got %d", c.ProjectBytes)
	found.If(c.CallerBytes < 0, "callerBytes: must not be negative, got %d", c.CallerBytes)
	known := map[string]bool{}
	for i, p := range c.Projects {
		found.If(!ident.IsPlace(p.Project), "projects[%d].project: a project %s; got %q", i, ident.PlaceRule, p.Project)
		found.If(known[p.Project], "projects[%d].project: %s has a limit already", i, p.Project)
		found.If(p.Bytes < 0, "projects[%d].bytes: must not be negative, got %d", i, p.Bytes)
		known[p.Project] = true
	}
	found.If(c.Interval < time.Second, "interval: must be at least 1s, got %s", c.Interval)
	found.If(c.NearInterval < time.Second || c.NearInterval > c.Interval, "nearInterval: must be from 1s to interval, got %s", c.NearInterval)
	found.If(c.RequestsPerSecond < 1 || c.RequestsPerSecond > 1000, "requestsPerSecond: must be from 1 to 1000, got %d", c.RequestsPerSecond)
	found.If(c.Lease < 3*time.Second, "lease: must be at least 3s, got %s", c.Lease)
	return found.Err()
}

// limit is that of a project, with the setting that has it; 0 means none.
func (c Config) limit(project string) (bytes int64, setting string) {
	for _, p := range c.Projects {
		if p.Project == project {
			return p.Bytes, "runs.stored.projects"
		}
	}
	return c.ProjectBytes, "runs.stored.projectBytes"
}

// measures reports whether a project is measured.
func (c Config) measures(project string) bool {
	limit, _ := c.limit(project)
	return c.Measure || c.CallerBytes > 0 || limit > 0
}

// on reports whether any project is measured.
func (c Config) on() bool {
	on := c.Measure || c.CallerBytes > 0 || c.ProjectBytes > 0
	for _, p := range c.Projects {
		on = on || p.Bytes > 0
	}
	return on
}

// oldAfter is the age from which a measurement no longer limits anything.
func (c Config) oldAfter() time.Duration { return 4 * c.Interval }

// near reports whether a project or a caller is near its limit or above it.
func near(used, limit int64) bool { return limit > 0 && used >= limit/5*4 }
