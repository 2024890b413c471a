package dispatch

import (
	"fmt"
	"time"
)

// Config configures the stream of assignments.
type Config struct {
	// Heartbeat is the pause after which an idle stream repeats its sentinel.
	Heartbeat time.Duration `mapstructure:"heartbeat"`
	// MaxAge is after how long a stream ends cleanly; the client subscribes again.
	MaxAge time.Duration `mapstructure:"maxAge"`
	// Poll is how often a stream compares what its client knows with everything that is live.
	Poll time.Duration `mapstructure:"poll"`
	// PageSize is the number of references in one message of the snapshot.
	PageSize int `mapstructure:"pageSize"`
}

// DefaultConfig suits every installation.
func DefaultConfig() Config {
	return Config{Heartbeat: 15 * time.Second, MaxAge: 10 * time.Minute, Poll: 30 * time.Second, PageSize: 1000}
}

// Validate names the first field that is wrong.
func (c Config) Validate() error {
	switch {
	case c.Heartbeat <= 0:
		return fmt.Errorf("heartbeat: must be positive, got %s", c.Heartbeat)
	case c.MaxAge <= 0:
		return fmt.Errorf("maxAge: must be positive, got %s", c.MaxAge)
	case c.Poll <= 0:
		return fmt.Errorf("poll: must be positive, got %s", c.Poll)
	case c.PageSize < 1 || c.PageSize > 10_000:
		return fmt.Errorf("pageSize: must be from 1 to 10000, got %d", c.PageSize)
	}
	return nil
}
