package backoff

import (
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// Config configures the pauses between retries, as a section of a service's configuration.
type Config struct {
	// First is the pause after the first failure. It doubles with every further one.
	First time.Duration `config:"first"`
	// Max is the longest pause.
	Max time.Duration `config:"max"`
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.First <= 0, "first: must be positive, got %s", c.First)
	found.If(c.Max < c.First, "max: must not be less than first, %s, got %s", c.First, c.Max)
	return found.Err()
}

// New returns a Backoff with the configured pauses, without failures so far.
func (c Config) New() *Backoff { return New(c.First, c.Max) }
