package retention

import (
	"fmt"
	"time"
)

// Config says what is deleted, and at what pace.
type Config struct {
	// Enabled deletes runs that the limits do not keep. Default false: everything is kept forever.
	Enabled bool `mapstructure:"enabled"`
	// MaxAge is how long a run is kept after its end; 0, the default, means no age limit.
	MaxAge time.Duration `mapstructure:"maxAge"`
	// MaxRuns is how many of the newest runs of each project and domain are kept; 0, the default, means no limit.
	MaxRuns int `mapstructure:"maxRuns"`
	// Grace is how long a finished run is left alone whatever the limits say, because its logs may still be stored.
	// Default 10m.
	Grace time.Duration `mapstructure:"grace"`
	// Interval is the pause between two sweeps. Default 1h.
	Interval time.Duration `mapstructure:"interval"`
	// Batch is how many rows are deleted in one transaction. Default 500.
	Batch int `mapstructure:"batch"`
	// Pause is the pause between two such transactions. Default 20ms.
	Pause time.Duration `mapstructure:"pause"`
	// DryRun only logs what would be deleted. Default false.
	DryRun bool `mapstructure:"dryRun"`
	// Lease is how long the one replica that deletes may be silent before another takes over. Default 30s.
	Lease time.Duration `mapstructure:"lease"`
}

// DefaultConfig keeps everything.
func DefaultConfig() Config {
	return Config{
		Grace: 10 * time.Minute, Interval: time.Hour, Batch: 500, Pause: 20 * time.Millisecond, Lease: 30 * time.Second,
	}
}

// Validate returns an error for the first invalid field.
func (c Config) Validate() error {
	switch {
	case c.MaxAge < 0:
		return fmt.Errorf("maxAge: must not be negative, got %s", c.MaxAge)
	case c.MaxRuns < 0:
		return fmt.Errorf("maxRuns: must not be negative, got %d", c.MaxRuns)
	case c.Enabled && !c.limited():
		return fmt.Errorf("maxAge: retention is enabled, so set maxAge or maxRuns")
	case c.Grace < 0:
		return fmt.Errorf("grace: must not be negative, got %s", c.Grace)
	case c.Interval <= 0:
		return fmt.Errorf("interval: must be positive, got %s", c.Interval)
	case c.Batch < 1 || c.Batch > 100_000:
		return fmt.Errorf("batch: must be from 1 to 100000, got %d", c.Batch)
	case c.Pause < 0:
		return fmt.Errorf("pause: must not be negative, got %s", c.Pause)
	case c.Lease < 3*time.Second:
		return fmt.Errorf("lease: must be at least 3s, got %s", c.Lease)
	}
	return nil
}

func (c Config) limited() bool { return c.MaxAge > 0 || c.MaxRuns > 0 }
