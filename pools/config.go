package pools

import (
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
)

// Config configures the workers of reusable environments.
type Config struct {
	// Enabled gives tasks of reusable environments (flyte.ReusePolicy) to workers. Otherwise each attempt has a pod of its own,
	// as also where this process runs a cluster and neither executor.pod.copilot.image nor executor.workers.program says where
	// workers get their program. Defaults to true.
	Enabled bool `config:"enabled"`
	// Lease is how long a worker may be silent. Then it must have ended all of its work, which goes to other workers.
	// Defaults to 30s.
	Lease time.Duration `config:"lease"`
	// Grace is how long a process that is asked to stop has until it is killed. Defaults to 10s.
	Grace time.Duration `config:"grace"`
	// MaxSystemFailures is how many attempts of one action may fail because of the system, such as a lost worker. They do not count
	// against the task's own retries. Defaults to 3.
	MaxSystemFailures int32 `config:"maxSystemFailures"`
	// SystemBackoff is the pause before the first attempt that follows a fault of the system, and before the first worker
	// that follows one that did not start. It doubles with each further one, up to MaxSystemBackoff. Defaults to 1s.
	SystemBackoff time.Duration `config:"systemBackoff"`
	// MaxSystemBackoff is the longest such pause. Defaults to 1m.
	MaxSystemBackoff time.Duration `config:"maxSystemBackoff"`
	// Linger is how long the process of an attempt may continue after it wrote its outcome, as executor.reconciler.linger for pods. 0 sets
	// no limit. Defaults to 5m.
	Linger time.Duration `config:"linger"`
	// KeeperLease is how long the replica that sizes pools may be silent before another takes over. Defaults to 15s.
	KeeperLease time.Duration `config:"keeperLease"`
	// Poll is how often pools look for changes without a notification. Defaults to 30s.
	Poll time.Duration `config:"poll"`
	// Heartbeat is the pause after which an idle stream to a controller sends a heartbeat. It must be less than workers.maxSilence. Defaults
	// to 15s.
	Heartbeat time.Duration `config:"heartbeat"`
	// MaxSilence is how long a stream of assignments to pools, or of workers to a controller, may send nothing, not even a
	// heartbeat, before it is opened again. Defaults to 1m.
	MaxSilence time.Duration `config:"maxSilence"`
	// MaxAge is after how long such a stream ends cleanly; the controller subscribes again. Each stream's own limit is up to a fifth
	// lower. Defaults to 10m.
	MaxAge time.Duration `config:"maxAge"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{
		Enabled: true, Lease: 30 * time.Second, Grace: 10 * time.Second, MaxSystemFailures: 3, SystemBackoff: time.Second, MaxSystemBackoff: time.Minute,
		Linger: 5 * time.Minute, KeeperLease: 15 * time.Second, Poll: 30 * time.Second, Heartbeat: 15 * time.Second, MaxSilence: stream.MaxSilence, MaxAge: 10 * time.Minute,
	}
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	for _, at := range []struct {
		name         string
		value, least time.Duration
	}{
		{"lease", c.Lease, time.Second},
		{"grace", c.Grace, 0},
		{"systemBackoff", c.SystemBackoff, time.Millisecond},
		{"maxSystemBackoff", c.MaxSystemBackoff, max(c.SystemBackoff, 0)},
		{"linger", c.Linger, 0},
		{"keeperLease", c.KeeperLease, 3 * time.Second},
		{"poll", c.Poll, 100 * time.Millisecond},
		{"heartbeat", c.Heartbeat, 100 * time.Millisecond},
		{"maxAge", c.MaxAge, time.Second},
	} {
		found.If(at.value < at.least, "%s: must be at least %s, got %s", at.name, at.least, at.value)
	}
	found.If(c.MaxSilence <= c.Heartbeat, "maxSilence: must be more than heartbeat, %s, got %s", c.Heartbeat, c.MaxSilence)
	found.If(c.MaxSystemFailures < 0, "maxSystemFailures: must not be negative, got %d", c.MaxSystemFailures)
	return found.Err()
}
