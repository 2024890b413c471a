package rollup

import (
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// Config says how ended actions are counted.
type Config struct {
	// Every is the pause between two readings of the list of actions that are not counted. Default 2s.
	Every time.Duration `config:"every"`
	// Grace is how long after its end an action that ran in a cluster is counted, at the earliest: what its attempts used last is measured and
	// sent meanwhile. Default 5s.
	Grace time.Duration `config:"grace"`
	// Keep is for how long the counts of a day are kept, also when retention has deleted its runs. Default 9600h, which is 400 days.
	Keep time.Duration `config:"keep"`
	// Lease is how long the replica that counts may be silent before another takes over. Default 6s.
	Lease time.Duration `config:"lease"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{Every: 2 * time.Second, Grace: 5 * time.Second, Keep: 400 * 24 * time.Hour, Lease: 6 * time.Second}
}

// leastKeep is what comparisons with the week before and sums of 30 days need.
const leastKeep = 31 * 24 * time.Hour

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.Every <= 0, "every: must be positive, got %s", c.Every)
	found.If(c.Grace < 0, "grace: must not be negative, got %s", c.Grace)
	found.If(c.Keep < leastKeep, "keep: must be at least %s, which is 31 days, got %s", leastKeep, c.Keep)
	found.If(c.Lease < 3*time.Second, "lease: must be at least 3s, got %s", c.Lease)
	return found.Err()
}
