package worker

import (
	"net/url"
	"strconv"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// The variables by which a worker is configured. The server sets them in the worker's pod.
const (
	// EnvID is the worker's id. Required.
	EnvID = "FLYTE_WORKER_ID"
	// EnvToken is the bearer token of its calls. Required.
	EnvToken = "FLYTE_WORKER_TOKEN"
	// EnvEndpoint is the URL of WorkerService: https:// with TLS, http:// without. Required.
	EnvEndpoint = "FLYTE_WORKER_ENDPOINT"
	// EnvConcurrency is how many attempts run at a time. Default 1.
	EnvConcurrency = "FLYTE_WORKER_CONCURRENCY"
	// EnvGrace is how long the worker has after SIGTERM until it is killed, a duration of Go. Default 30s.
	EnvGrace = "FLYTE_WORKER_GRACE"
	// EnvStorage is the configuration of the object store as JSON, without secrets. Default: logs are not kept.
	EnvStorage = "FLYTE_WORKER_STORAGE"
)

// Config is what a worker must know.
type Config struct {
	// ID is the worker's id.
	ID string
	// Token is the bearer token of its calls.
	Token string
	// Endpoint is the URL of WorkerService.
	Endpoint string
	// Concurrency is how many attempts run at a time: one in a process of its own, or several as coroutines of one process.
	Concurrency uint32
	// Grace is how long the worker has after SIGTERM until it is killed.
	Grace time.Duration
	// Dir is the working directory of attempts. What an attempt leaves in it is removed.
	Dir string
	// Scratch is a directory for files of the worker.
	Scratch string
	// Environ is the environment of attempts, apart from their own variables.
	Environ []string
	// Version is the version of the program.
	Version string
	// Deadline ends the process at the end of a lease if the worker has not ended all work by then. Nil means that nothing does.
	Deadline Deadline `json:"-"`
}

// FromEnvironment reads the variables of the server. Dir, Scratch, Environ, Version and Deadline are left to the caller.
func FromEnvironment(env func(string) string) (Config, error) {
	var found invalid.Fields
	c := Config{ID: env(EnvID), Token: env(EnvToken), Endpoint: env(EnvEndpoint), Concurrency: 1, Grace: 30 * time.Second}
	if text := env(EnvConcurrency); text != "" {
		n, err := strconv.ParseUint(text, 10, 32)
		found.If(err != nil, "%s: %q is not a number of attempts", EnvConcurrency, text)
		c.Concurrency = uint32(n)
	}
	if text := env(EnvGrace); text != "" {
		var err error
		if c.Grace, err = time.ParseDuration(text); err != nil {
			found.Add("%s: %w", EnvGrace, err)
		}
	}
	found.Section("", c.validate())
	return c, found.Err()
}

func (c Config) validate() error {
	var found invalid.Fields
	found.If(c.ID == "", "%s: must be set; workers are started by the server", EnvID)
	found.If(c.Token == "", "%s: must be set", EnvToken)
	at, err := url.Parse(c.Endpoint)
	found.If(err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https",
		"%s: must be the URL of a server, http:// or https://, got %q", EnvEndpoint, c.Endpoint)
	found.If(c.Concurrency == 0 || c.Concurrency > 1000, "%s: must be from 1 to 1000, got %d", EnvConcurrency, c.Concurrency)
	found.If(c.Grace <= 0, "%s: must be positive, got %s", EnvGrace, c.Grace)
	return found.Err()
}
