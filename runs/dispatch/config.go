package dispatch

import (
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// Config configures the stream of assignments.
type Config struct {
	// Heartbeat is the pause after which an idle stream repeats its sentinel.
	Heartbeat time.Duration `config:"heartbeat"`
	// MaxAge is after how long a stream ends cleanly; the client subscribes again.
	MaxAge time.Duration `config:"maxAge"`
	// Poll is how often a stream compares what its client knows with everything that is live.
	Poll time.Duration `config:"poll"`
	// PageSize is the number of references in one message of the snapshot.
	PageSize int `config:"pageSize"`
	// MaxDelay is how long new assignments wait at most for CreateRun calls, while those need the processors; 0 means not at all.
	MaxDelay time.Duration `config:"maxDelay"`
}

// DefaultConfig suits every installation.
func DefaultConfig() Config {
	return Config{Heartbeat: 15 * time.Second, MaxAge: 10 * time.Minute, Poll: 30 * time.Second, PageSize: 1000, MaxDelay: time.Second}
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.Heartbeat <= 0, "heartbeat: must be positive, got %s", c.Heartbeat)
	found.If(c.MaxAge <= 0, "maxAge: must be positive, got %s", c.MaxAge)
	found.If(c.Poll <= 0, "poll: must be positive, got %s", c.Poll)
	found.If(c.PageSize < 1 || c.PageSize > 10_000, "pageSize: must be from 1 to 10000, got %d", c.PageSize)
	found.If(c.MaxDelay < 0, "maxDelay: must not be negative, got %s", c.MaxDelay)
	return found.Err()
}
