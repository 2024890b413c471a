package timers

import (
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// Config tunes the loop that handles due work.
type Config struct {
	// Poll is how often the loop reads what is due when nothing wakes it; work that becomes due in between is handled
	// on time. It bounds how late the loop notices that a clock was set. Default 2 s.
	Poll time.Duration `config:"poll"`
	// Batch is how many actions are handled in one operation. Default 500.
	Batch int `config:"batch"`
	// Lease is how long a holder may be silent before another replica takes over. Default 4 s.
	Lease time.Duration `config:"lease"`
	// Grace is how long an action of an executor may live past a deadline or a queued timeout: the executor ends it
	// in time, and knows better whether it started or ended before. Default 2 s.
	Grace time.Duration `config:"grace"`
	// Settle is how long after its start the loop leaves such actions to their executors in any case, since these may
	// first have to report what happened during an outage. Default 15 s.
	Settle time.Duration `config:"settle"`
}

// DefaultConfig suits every size.
func DefaultConfig() Config {
	return Config{Poll: 2 * time.Second, Batch: 500, Lease: 4 * time.Second, Grace: 2 * time.Second, Settle: 15 * time.Second}
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.Poll <= 0 || c.Poll > time.Minute, "poll: must be positive and at most 1m, got %s", c.Poll)
	found.If(c.Batch < 1 || c.Batch > 5000, "batch: must be from 1 to 5000, got %d", c.Batch)
	found.If(c.Lease < 3*time.Second, "lease: must be at least 3s, got %s", c.Lease)
	found.If(c.Grace < 0, "grace: must not be negative, got %s", c.Grace)
	found.If(c.Settle < 0, "settle: must not be negative, got %s", c.Settle)
	return found.Err()
}
