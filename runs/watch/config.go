package watch

import (
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// Config tunes the watches. The defaults suit production.
type Config struct {
	// Heartbeat is the silence after which a stream sends a message without content, where its type has one.
	Heartbeat time.Duration `config:"heartbeat"`
	// MaxAge is when a stream is ended cleanly, so that clients spread over replicas again. Each stream's own limit
	// is up to a fifth lower.
	MaxAge time.Duration `config:"maxAge"`
	// Poll is how often logs are read without any wake-up. It bounds the delay when a wake-up is lost.
	Poll time.Duration `config:"poll"`
	// Window is how long changes are batched before they are sent to watchers of whole runs or of lists of runs.
	// Parents and watchers of one action get changes at once.
	Window time.Duration `config:"window"`
	// Linger is how long a stream of a run's actions stays open after the run has ended and no more changes arrive.
	Linger time.Duration `config:"linger"`
	// Ring is how many changes of one run, and of all runs' roots, are kept for subscribers that are behind. A
	// subscriber that falls further behind reads the database again.
	Ring int `config:"ring"`
	// RingBytes bounds the same in bytes.
	RingBytes int `config:"ringBytes"`
	// Reads is how many feeds may read the database at the same time, and separately how many streams.
	Reads int `config:"reads"`
	// Page is how many rows a snapshot reads and sends at a time.
	Page int `config:"page"`
	// Overlap is how far the re-read of recently updated runs reaches back. It must exceed the longest transaction
	// of a writer plus the difference between the clocks of replicas.
	Overlap time.Duration `config:"overlap"`
	// Groups bounds the number of tasks in a watch of groups.
	Groups int `config:"groups"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{
		Heartbeat: 15 * time.Second,
		MaxAge:    10 * time.Minute,
		Poll:      3 * time.Second,
		Window:    100 * time.Millisecond,
		Linger:    30 * time.Second,
		Ring:      1024,
		RingBytes: 1 << 20,
		Reads:     4,
		Page:      1000,
		Overlap:   30 * time.Second,
		Groups:    1000,
	}
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"heartbeat", c.Heartbeat}, {"maxAge", c.MaxAge}, {"poll", c.Poll}, {"window", c.Window},
		{"linger", c.Linger}, {"overlap", c.Overlap},
	} {
		found.If(d.value <= 0, "%s: must be positive, is %s", d.name, d.value)
	}
	for _, n := range []struct {
		name       string
		value, max int
	}{
		{"ring", c.Ring, 1 << 20}, {"ringBytes", c.RingBytes, 1 << 30}, {"reads", c.Reads, 1000},
		{"page", c.Page, 1000}, {"groups", c.Groups, 10_000},
	} {
		found.If(n.value < 1 || n.value > n.max, "%s: must be between 1 and %d, is %d", n.name, n.max, n.value)
	}
	return found.Err()
}
