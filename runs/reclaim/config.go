package reclaim

import (
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// Config says when work is taken back from clusters.
type Config struct {
	// LostAfter is how long a cluster may be away before the attempts that run there are given up, and run again on another cluster.
	// What has not begun there moves as soon as the cluster is away. 0 means that running attempts wait forever. Default 10 m.
	LostAfter time.Duration `config:"lostAfter"`
	// Poll is how often the loop looks at the clusters. Default 1 s.
	Poll time.Duration `config:"poll"`
	// Settle is how long the loop watches the clusters before it takes anything back: after the API was down, controllers need time to
	// connect again. Default 20 s.
	Settle time.Duration `config:"settle"`
	// Batch is how many attempts are taken back in one operation. Default 200.
	Batch int `config:"batch"`
	// Lease is how long a holder may be silent before another replica takes over. Default 4 s.
	Lease time.Duration `config:"lease"`
}

// DefaultConfig suits every size.
func DefaultConfig() Config {
	return Config{LostAfter: 10 * time.Minute, Poll: time.Second, Settle: 20 * time.Second, Batch: 200, Lease: 4 * time.Second}
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.LostAfter < 0, "lostAfter: must not be negative, got %s", c.LostAfter)
	found.If(c.Poll <= 0 || c.Poll > time.Minute, "poll: must be positive and at most 1m, got %s", c.Poll)
	found.If(c.Settle < 0, "settle: must not be negative, got %s", c.Settle)
	found.If(c.Batch < 1 || c.Batch > 5000, "batch: must be from 1 to 5000, got %d", c.Batch)
	found.If(c.Lease < 3*time.Second, "lease: must be at least 3s, got %s", c.Lease)
	return found.Err()
}
