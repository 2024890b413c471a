package apps

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// Config configures apps.
type Config struct {
	// ScaledownPeriod is how long an app that does not say so itself keeps replicas that it does not need, and how long an
	// app that may sleep stays awake without requests. Defaults to 5m.
	ScaledownPeriod time.Duration `config:"scaledownPeriod"`
	// StartTimeout is how long a revision may take to its first ready replica before it has failed: pulling the image and
	// loading a model count. Defaults to 10m.
	StartTimeout time.Duration `config:"startTimeout"`
	// Drain is how long a revision keeps its replicas after another has taken its place, for the requests that they have.
	// Defaults to 10s.
	Drain time.Duration `config:"drain"`
	// StopTimeout is how long an app counts as being stopped while its cluster still reports replicas. Defaults to 1m.
	StopTimeout time.Duration `config:"stopTimeout"`
	// SilentAfter is how long a deployer may be silent before the status of its apps says that it is unknown.
	// Defaults to 1m.
	SilentAfter time.Duration `config:"silentAfter"`
	// LoadExpiry is how long the report of a gateway counts. Gateways report every second while there are requests.
	// Defaults to 10s.
	LoadExpiry time.Duration `config:"loadExpiry"`
	// Interval is how often the autoscaler looks at the load and the time. Defaults to 1s.
	Interval time.Duration `config:"interval"`
	// Lease is how long the replica that scales may be silent before another takes over. Defaults to 15s.
	Lease time.Duration `config:"lease"`
	// Heartbeat is the pause after which an idle stream sends a sign of life. Defaults to 15s.
	Heartbeat time.Duration `config:"heartbeat"`
	// Poll is how often a stream looks for changes whose notification it missed. Defaults to 30s.
	Poll time.Duration `config:"poll"`
	// MaxAge is after how long a stream ends cleanly; the client subscribes again. Streams about one app continue for six times
	// as long: the SDK waits on one for an app to start, and takes its end for a failure. Defaults to 10m.
	MaxAge time.Duration `config:"maxAge"`
	// MaxReplicas bounds the replicas that an app may ask for. Defaults to 1000.
	MaxReplicas uint32 `config:"maxReplicas"`
	// LogStreams bounds the streams of logs at once. Defaults to 100.
	LogStreams int `config:"logStreams"`
	// Spread says which apps run in several clusters. The first entry that matches an app counts; others run in one cluster.
	// Default none.
	Spread []Spread `config:"spread"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{
		ScaledownPeriod: 5 * time.Minute, StartTimeout: 10 * time.Minute, Drain: 10 * time.Second, StopTimeout: time.Minute,
		SilentAfter: time.Minute, LoadExpiry: 10 * time.Second, Interval: time.Second, Lease: 15 * time.Second,
		Heartbeat: 15 * time.Second, Poll: 30 * time.Second, MaxAge: 10 * time.Minute, MaxReplicas: 1000, LogStreams: 100,
	}
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	for _, at := range []struct {
		name  string
		value time.Duration
		least time.Duration
	}{
		{"scaledownPeriod", c.ScaledownPeriod, time.Second},
		{"startTimeout", c.StartTimeout, time.Second},
		{"drain", c.Drain, 0},
		{"stopTimeout", c.StopTimeout, time.Second},
		{"silentAfter", c.SilentAfter, 3 * time.Second},
		{"loadExpiry", c.LoadExpiry, 3 * time.Second},
		{"interval", c.Interval, 100 * time.Millisecond},
		{"lease", c.Lease, 3 * time.Second},
		{"heartbeat", c.Heartbeat, 100 * time.Millisecond},
		{"poll", c.Poll, 100 * time.Millisecond},
		{"maxAge", c.MaxAge, time.Second},
	} {
		found.If(at.value < at.least, "%s: must be at least %s, got %s", at.name, at.least, at.value)
	}
	found.If(c.SilentAfter < 2*c.Heartbeat,
		"silentAfter: must be at least twice heartbeat, %s, got %s", 2*c.Heartbeat, c.SilentAfter)
	found.If(c.MaxReplicas < 1, "maxReplicas: must be at least 1, got %d", c.MaxReplicas)
	found.If(c.LogStreams < 1, "logStreams: must be at least 1, got %d", c.LogStreams)
	for i := range c.Spread {
		found.Section(fmt.Sprintf("spread[%d]", i), c.Spread[i].Validate())
	}
	return found.Err()
}

// mostClusters bounds the clusters of one app.
const mostClusters = 20

// Spread says in how many clusters the apps run that match all of its conditions.
type Spread struct {
	// Projects match the apps of these projects, as "project" or "project/domain"; empty matches all.
	Projects []string `config:"projects"`
	// Apps match the apps of these names; empty matches all.
	Apps []string `config:"apps"`
	// Pools match the apps that name these pools of clusters; empty matches all.
	Pools []string `config:"pools"`
	// Clusters is in how many clusters they run, each with as many replicas as one alone would need.
	Clusters int `config:"clusters"`
}

// Validate lists the fields that are wrong.
func (s Spread) Validate() error {
	var found invalid.Fields
	found.If(s.Clusters < 1 || s.Clusters > mostClusters, "clusters: must be from 1 to %d, got %d", mostClusters, s.Clusters)
	for name, list := range map[string][]string{"projects": s.Projects, "apps": s.Apps, "pools": s.Pools} {
		if i := slices.Index(list, ""); i >= 0 {
			found.Add("%s[%d]: must not be empty", name, i)
		}
	}
	return found.Err()
}

// UnmarshalText reads the conditions in one line, as in "apps=search;chat clusters=2". It is the form of the environment and of
// overrides; lists are separated by semicolons there.
func (s *Spread) UnmarshalText(text []byte) error {
	*s = Spread{}
	var problems []error
	for _, word := range strings.Fields(string(text)) {
		field, value, _ := strings.Cut(word, "=")
		switch field {
		case "projects":
			s.Projects = strings.Split(value, ";")
		case "apps":
			s.Apps = strings.Split(value, ";")
		case "pools":
			s.Pools = strings.Split(value, ";")
		case "clusters":
			n, err := strconv.Atoi(value)
			if err != nil {
				err = fmt.Errorf("clusters is a number, got %q", value)
			}
			s.Clusters, problems = n, append(problems, err)
		default:
			problems = append(problems, fmt.Errorf("a spread has no field %q", field))
		}
	}
	return errors.Join(problems...)
}
