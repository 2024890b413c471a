package configuration

import (
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// HealthConfig says when a process that works counts as degraded.
type HealthConfig struct {
	// OldestWrite is how long a change of an action may wait to be stored. Defaults to 10s.
	OldestWrite time.Duration `config:"oldestWrite"`
	// OldestStart is how long an admitted action may wait until its cluster begins with it. Defaults to 2m.
	OldestStart time.Duration `config:"oldestStart"`
	// MinFreeBytes is the free space that the disk of a storage directory must have. Defaults to 512 MiB.
	MinFreeBytes uint64 `config:"minFreeBytes"`
	// WriteProbe is the least time between two test writes to the object store. Defaults to 1m.
	WriteProbe time.Duration `config:"writeProbe"`
}

// DefaultHealthConfig is what HealthConfig's fields say.
func DefaultHealthConfig() HealthConfig {
	return HealthConfig{OldestWrite: 10 * time.Second, OldestStart: 2 * time.Minute, MinFreeBytes: 512 << 20, WriteProbe: time.Minute}
}

// Validate lists the fields that are wrong.
func (c HealthConfig) Validate() error {
	var found invalid.Fields
	found.If(c.OldestWrite <= 0, "oldestWrite: must be positive, got %s", c.OldestWrite)
	found.If(c.OldestStart <= 0, "oldestStart: must be positive, got %s", c.OldestStart)
	found.If(c.WriteProbe <= 0, "writeProbe: must be positive, got %s", c.WriteProbe)
	return found.Err()
}
