package logs

import (
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// Config configures how logs are kept.
type Config struct {
	// Seal keeps the log of every container in the object store when its action has ended. Default true.
	Seal bool `config:"seal"`
	// SealTimeout bounds the reading of one log. Default 1 m.
	SealTimeout time.Duration `config:"sealTimeout"`
	// MaxBytes is how much of one log is kept, from its beginning, in bytes. Default 256 MiB.
	MaxBytes int64 `config:"maxBytes"`
	// WaitForStart is how long a follower waits for a container that has not started. Default 10 m.
	WaitForStart time.Duration `config:"waitForStart"`
}

// DefaultConfig keeps logs.
func DefaultConfig() Config {
	return Config{Seal: true, SealTimeout: time.Minute, MaxBytes: 256 << 20, WaitForStart: 10 * time.Minute}
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.SealTimeout <= 0, "sealTimeout: must be positive, got %s", c.SealTimeout)
	found.If(c.MaxBytes <= 0, "maxBytes: must be positive, got %d", c.MaxBytes)
	found.If(c.WaitForStart < 0, "waitForStart: must not be negative, got %s", c.WaitForStart)
	return found.Err()
}
