package reconciler

import (
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// Config configures the reconciler.
type Config struct {
	// Workers is how many TaskActions are reconciled at once. Those that wait for the object store do not count.
	// Default 32.
	Workers int `config:"workers"`
	// MaxSystemFailures is how many attempts the system may lose of one action, in addition to the task's own retries.
	// Default 3.
	MaxSystemFailures int32 `config:"maxSystemFailures"`
	// SystemBackoff is the pause before the first attempt that follows a fault of the system. It doubles with each
	// further one, up to MaxSystemBackoff, and varies by a quarter. Default 1 s.
	SystemBackoff time.Duration `config:"systemBackoff"`
	// MaxSystemBackoff is the longest such pause. Default 1 m.
	MaxSystemBackoff time.Duration `config:"maxSystemBackoff"`
	// SlowAfter is the age from which a reconcile is logged and makes the component executor degraded. After five times
	// as long its context ends, and it is retried. Default 1 m.
	SlowAfter time.Duration `config:"slowAfter"`
	// StatusDelay is how long an attempt must run before the status of its TaskAction says so; most end earlier. What it waits
	// for is written after ten times as long. Default 2 s.
	StatusDelay time.Duration `config:"statusDelay"`
	// Resync is how often the unchanged state of an action is reported again, to learn whether it is still live. Default 10 m.
	Resync time.Duration `config:"resync"`
	// Linger is how long the process of an attempt may continue after it wrote its outcome. Then the outcome counts, and the process is
	// stopped. A process is looked at when it has run for as long, and then with pauses that double up to three times Linger. 0 lets it continue
	// forever. Default 5 m.
	Linger time.Duration `config:"linger"`
	// Sweep is how often pods without a TaskAction are looked for. Default 5 m.
	Sweep time.Duration `config:"sweep"`
	// OrphanAge is how old a pod without a TaskAction must be to be deleted, except at the start: most younger ones are about to be deleted.
	// Default 1 m.
	OrphanAge time.Duration `config:"orphanAge"`
	// ErrorBackoff is the pause after the first error of the API server or the object store; it doubles up to
	// MaxErrorBackoff. Default 100 ms.
	ErrorBackoff time.Duration `config:"errorBackoff"`
	// MaxErrorBackoff is the longest such pause. Default 30 s.
	MaxErrorBackoff time.Duration `config:"maxErrorBackoff"`
}

// DefaultConfig suits one cluster.
func DefaultConfig() Config {
	return Config{
		Workers:           32,
		MaxSystemFailures: 3,
		SystemBackoff:     time.Second,
		MaxSystemBackoff:  time.Minute,
		SlowAfter:         time.Minute,
		StatusDelay:       2 * time.Second,
		Resync:            10 * time.Minute,
		Linger:            5 * time.Minute,
		Sweep:             5 * time.Minute,
		OrphanAge:         time.Minute,
		ErrorBackoff:      100 * time.Millisecond,
		MaxErrorBackoff:   30 * time.Second,
	}
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.Workers <= 0, "workers: must be positive, got %d", c.Workers)
	found.If(c.MaxSystemFailures < 0, "maxSystemFailures: must not be negative, got %d", c.MaxSystemFailures)
	for _, field := range []struct {
		name  string
		value time.Duration
	}{
		{"systemBackoff", c.SystemBackoff}, {"slowAfter", c.SlowAfter}, {"statusDelay", c.StatusDelay}, {"resync", c.Resync}, {"sweep", c.Sweep},
		{"orphanAge", c.OrphanAge},
		{"errorBackoff", c.ErrorBackoff},
	} {
		found.If(field.value <= 0, "%s: must be positive, got %s", field.name, field.value)
	}
	found.If(c.Linger < 0, "linger: must not be negative, got %s", c.Linger)
	found.If(c.MaxSystemBackoff < c.SystemBackoff,
		"maxSystemBackoff: must not be less than systemBackoff, got %s", c.MaxSystemBackoff)
	found.If(c.MaxErrorBackoff < c.ErrorBackoff, "maxErrorBackoff: must not be less than errorBackoff, got %s", c.MaxErrorBackoff)
	return found.Err()
}
