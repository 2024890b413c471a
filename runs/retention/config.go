package retention

import (
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// Config says what is deleted, and at what pace.
type Config struct {
	// Enabled deletes runs that the limits do not keep. Default false: everything is kept forever.
	Enabled bool `config:"enabled"`
	// MaxAge is how long a run is kept after its end; 0, the default, means no age limit.
	MaxAge time.Duration `config:"maxAge"`
	// MaxRuns is how many of the newest runs of each project and domain are kept; 0, the default, means no limit.
	MaxRuns int `config:"maxRuns"`
	// Grace is how long a finished run is left alone whatever the limits say, because its logs may still be stored.
	// Default 10m.
	Grace time.Duration `config:"grace"`
	// Interval is the pause between two sweeps. Default 1h.
	Interval time.Duration `config:"interval"`
	// Batch is how many rows are deleted in one transaction. Default 500.
	Batch int `config:"batch"`
	// Pause is the pause between two such transactions. Default 20ms.
	Pause time.Duration `config:"pause"`
	// DryRun only logs what would be deleted. Default false.
	DryRun bool `config:"dryRun"`
	// Lease is how long the one replica that deletes may be silent before another takes over. Default 30s.
	Lease time.Duration `config:"lease"`
}

// DefaultConfig keeps everything.
func DefaultConfig() Config {
	return Config{
		Grace: 10 * time.Minute, Interval: time.Hour, Batch: 500, Pause: 20 * time.Millisecond, Lease: 30 * time.Second,
	}
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.MaxAge < 0, "maxAge: must not be negative, got %s", c.MaxAge)
	found.If(c.MaxRuns < 0, "maxRuns: must not be negative, got %d", c.MaxRuns)
	found.If(c.Enabled && !c.limited(), "maxAge: retention is enabled, so set maxAge or maxRuns")
	found.If(c.Grace < 0, "grace: must not be negative, got %s", c.Grace)
	found.If(c.Interval <= 0, "interval: must be positive, got %s", c.Interval)
	found.If(c.Batch < 1 || c.Batch > 100_000, "batch: must be from 1 to 100000, got %d", c.Batch)
	found.If(c.Pause < 0, "pause: must not be negative, got %s", c.Pause)
	found.If(c.Lease < 3*time.Second, "lease: must be at least 3s, got %s", c.Lease)
	return found.Err()
}

func (c Config) limited() bool { return c.MaxAge > 0 || c.MaxRuns > 0 }
