package connectors

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
)

// Config configures which connectors there are and how they are called.
type Config struct {
	// Endpoints are the connectors. Of two that serve the same type of task, the first gets its tasks.
	Endpoints []Endpoint `config:"endpoints"`
	// SharedApps are apps of type connector, as project/domain/name, that serve the tasks of all projects and domains, and get the
	// secrets that these tasks ask for. Others serve those of their own project and domain.
	SharedApps []string `config:"sharedApps"`
	// TaskTokenApps are apps of type connector, as project/domain/name, that get the tokens of the attempts whose jobs they start, as
	// an endpoint with taskTokens does.
	TaskTokenApps []string `config:"taskTokenApps"`
	// Refresh is how often connectors are asked which types they serve. Defaults to 10s.
	Refresh time.Duration `config:"refresh"`
	// CallTimeout bounds one call of a connector. Defaults to 30s.
	CallTimeout time.Duration `config:"callTimeout"`
	// MinPoll is the shortest pause between two looks at a job. The pause grows with the age of the job, to a tenth of it. Defaults to 1s.
	MinPoll time.Duration `config:"minPoll"`
	// MaxPoll is the longest such pause. Defaults to 30s.
	MaxPoll time.Duration `config:"maxPoll"`
	// MaxBackoff is the longest pause after calls that failed. Defaults to 1m.
	MaxBackoff time.Duration `config:"maxBackoff"`
	// MaxErrors is how many times in a row a connector may fail to say how a job is before the attempt is lost. A connector that
	// cannot be reached costs time, not attempts. Defaults to 10.
	MaxErrors int `config:"maxErrors"`
	// MaxMeta is the largest name of a job that a connector may give it, in bytes. Defaults to 65536.
	MaxMeta int `config:"maxMeta"`
	// MaxAnswer is the largest answer of a connector, such as the outputs of a job, in bytes. Defaults to 16777216.
	MaxAnswer int `config:"maxAnswer"`
	// DeleteFor is for how long the deletion of a job is tried, after which the job is left to its system. Defaults to 24h.
	DeleteFor time.Duration `config:"deleteFor"`
	// MaxSystemFailures is how many attempts of one action the system may lose, in addition to the task's own retries. Defaults to 3.
	MaxSystemFailures int32 `config:"maxSystemFailures"`
	// SystemBackoff is the pause before the first attempt that follows such a loss. It doubles with each further one, up to
	// MaxBackoff. Defaults to 1s.
	SystemBackoff time.Duration `config:"systemBackoff"`
	// Lease is how long the replica that calls a connector may be silent before another takes over. Defaults to 15s.
	Lease time.Duration `config:"lease"`
	// Poll is how often a loop looks for work without a notification. Defaults to 30s.
	Poll time.Duration `config:"poll"`
	// MaxSilence is how long the stream of assignments may send nothing, not even a heartbeat, before it is opened again. Defaults to 1m.
	MaxSilence time.Duration `config:"maxSilence"`
}

// Endpoint is one connector.
type Endpoint struct {
	// Name is what people call it. A job stays with the name of its connector.
	Name string `config:"name"`
	// URL is where it serves gRPC: http://host:port without TLS, or https://host:port.
	URL string `config:"url"`
	// TaskTypes are types of tasks that it serves in addition to those that it names itself, as TYPE or TYPE/VERSION.
	TaskTypes []string `config:"taskTypes"`
	// CAFile has the certificates that its own must follow from, as PEM; empty means those of the machine.
	CAFile string `config:"caFile"`
	// CertFile and KeyFile are the certificate and the key that the server presents to it, as PEM; empty for none.
	CertFile string `config:"certFile"`
	// KeyFile belongs to CertFile.
	KeyFile string `config:"keyFile"`
	// Token is sent as the bearer token of each call; empty for none.
	Token string `config:"token" sensitive:"true"`
	// TaskTokens gives the connector, with each request for a job, the address of the server and the token of the attempt, by which the
	// job calls the server. What the connector does with it, such as a job's specification that others can read, the server cannot know.
	// It takes https, here and in access.publicURL. Defaults to false.
	TaskTokens bool `config:"taskTokens"`
	// MaxJobs is how many jobs it may have at a time; other actions wait. 0 sets no limit.
	MaxJobs int `config:"maxJobs"`
	// Concurrency is how many calls it may get at a time. 0 means 16.
	Concurrency int `config:"concurrency"`
}

// defaultConcurrency is that of an endpoint that sets none.
const defaultConcurrency = 16

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{
		Refresh: 10 * time.Second, CallTimeout: 30 * time.Second, MinPoll: time.Second, MaxPoll: 30 * time.Second, MaxBackoff: time.Minute, MaxErrors: 10,
		MaxMeta: 64 << 10, MaxAnswer: 16 << 20, DeleteFor: 24 * time.Hour, MaxSystemFailures: 3, SystemBackoff: time.Second, Lease: 15 * time.Second,
		Poll: 30 * time.Second, MaxSilence: stream.MaxSilence,
	}
}

var isName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	for _, at := range []struct {
		name         string
		value, least time.Duration
	}{
		{"refresh", c.Refresh, 100 * time.Millisecond},
		{"callTimeout", c.CallTimeout, time.Second},
		{"minPoll", c.MinPoll, 10 * time.Millisecond},
		{"maxPoll", c.MaxPoll, max(c.MinPoll, 0)},
		{"maxBackoff", c.MaxBackoff, max(c.SystemBackoff, time.Millisecond)},
		{"deleteFor", c.DeleteFor, 0},
		{"systemBackoff", c.SystemBackoff, time.Millisecond},
		{"lease", c.Lease, 3 * time.Second},
		{"poll", c.Poll, 100 * time.Millisecond},
		{"maxSilence", c.MaxSilence, time.Second},
	} {
		found.If(at.value < at.least, "%s: must be at least %s, got %s", at.name, at.least, at.value)
	}
	found.If(c.MaxErrors < 1, "maxErrors: must be at least 1, got %d", c.MaxErrors)
	found.If(c.MaxMeta < 1, "maxMeta: must be at least 1, got %d", c.MaxMeta)
	found.If(c.MaxAnswer < 1<<10, "maxAnswer: must be at least 1024, got %d", c.MaxAnswer)
	found.If(c.MaxSystemFailures < 0, "maxSystemFailures: must not be negative, got %d", c.MaxSystemFailures)
	seen := map[string]bool{}
	for i := range c.Endpoints {
		c.Endpoints[i].validate(&found, i)
		found.If(seen[c.Endpoints[i].Name], "endpoints[%d].name: connector %q is configured twice", i, c.Endpoints[i].Name)
		seen[c.Endpoints[i].Name] = true
	}
	for _, list := range []struct {
		name string
		apps []string
	}{{"sharedApps", c.SharedApps}, {"taskTokenApps", c.TaskTokenApps}} {
		for i, app := range list.apps {
			parts := strings.Split(app, "/")
			found.If(len(parts) != 3 || slices.Contains(parts, ""), "%s[%d]: want project/domain/name, got %q", list.name, i, app)
		}
	}
	return found.Err()
}

func (e *Endpoint) validate(found *invalid.Fields, i int) {
	found.If(!isName.MatchString(e.Name), "endpoints[%d].name: must be 1 to 63 lower-case letters, digits and dashes, got %q", i, e.Name)
	at, err := url.Parse(e.URL)
	found.If(err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" || at.Path != "" && at.Path != "/",
		"endpoints[%d].url: want http://host:port or https://host:port, got %q", i, e.URL)
	for n, text := range e.TaskTypes {
		_, err := parseType(text)
		found.If(err != nil, "endpoints[%d].taskTypes[%d]: want TYPE or TYPE/VERSION, got %q", i, n, text)
	}
	found.If((e.CertFile == "") != (e.KeyFile == ""), "endpoints[%d].keyFile: set both certFile and keyFile, or neither", i)
	found.If(e.TaskTokens && err == nil && at.Scheme != "https",
		"endpoints[%d].taskTokens: tokens are sent over TLS alone: url must be https://host:port, got %q", i, e.URL)
	found.If(e.MaxJobs < 0, "endpoints[%d].maxJobs: must not be negative, got %d", i, e.MaxJobs)
	found.If(e.Concurrency < 0 || e.Concurrency > 1000, "endpoints[%d].concurrency: must be 0 to 1000, got %d", i, e.Concurrency)
}
