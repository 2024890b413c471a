package artifacts

import (
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// Config configures the service.
type Config struct {
	// MaxSpecBytes is the largest spec of a version, encoded. Large values belong into the object store. Defaults to 2 MiB.
	MaxSpecBytes int `config:"maxSpecBytes"`
	// MaxOutputsBytes is the largest outputs.pb whose declared artifacts are registered. Defaults to 64 MiB.
	MaxOutputsBytes int64 `config:"maxOutputsBytes"`
	// KeepEvents is how long the event of a new version waits for a consumer. Defaults to 7 days.
	KeepEvents time.Duration `config:"keepEvents"`
	// CollectEvery is how often old events are deleted. Defaults to 10m.
	CollectEvery time.Duration `config:"collectEvery"`
	// Lease is how long the replica that collects may be silent before another takes over. Defaults to 15s.
	Lease time.Duration `config:"lease"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{
		MaxSpecBytes: 2 << 20, MaxOutputsBytes: 64 << 20, KeepEvents: 7 * 24 * time.Hour, CollectEvery: 10 * time.Minute, Lease: 15 * time.Second,
	}
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.MaxSpecBytes < 1<<10, "maxSpecBytes: must be at least 1 KiB, got %d", c.MaxSpecBytes)
	found.If(c.MaxOutputsBytes < 1<<10, "maxOutputsBytes: must be at least 1 KiB, got %d", c.MaxOutputsBytes)
	found.If(c.KeepEvents <= 0, "keepEvents: must be positive, got %s", c.KeepEvents)
	found.If(c.CollectEvery <= 0, "collectEvery: must be positive, got %s", c.CollectEvery)
	found.If(c.Lease < 3*time.Second, "lease: must be at least 3s, got %s", c.Lease)
	return found.Err()
}
