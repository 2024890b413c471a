package backoff

import (
	"fmt"
	"time"
)

// Config configures the pauses between retries, as a section of a service's configuration.
type Config struct {
	// First is the pause after the first failure. It doubles with every further one.
	First time.Duration `mapstructure:"first"`
	// Max is the longest pause.
	Max time.Duration `mapstructure:"max"`
}

// Validate names the first field that is wrong.
func (c Config) Validate() error {
	switch {
	case c.First <= 0:
		return fmt.Errorf("first: must be positive, got %s", c.First)
	case c.Max < c.First:
		return fmt.Errorf("max: must not be less than first, %s, got %s", c.First, c.Max)
	}
	return nil
}

// New returns a Backoff with the configured pauses, without failures so far.
func (c Config) New() *Backoff { return New(c.First, c.Max) }
