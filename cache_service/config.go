package cacheservice

import (
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// Config configures the service.
type Config struct {
	// MaxHeartbeat is the longest heartbeat that the owner of a reservation may request, and the default for owners
	// that request none. Defaults to 10s.
	MaxHeartbeat time.Duration `config:"maxHeartbeat"`
	// HeartbeatGrace is after how many heartbeats without a sign of its owner a reservation expires. Defaults to 3.
	HeartbeatGrace int `config:"heartbeatGrace"`
	// KeepOutputs is how long entries are kept after they were put; the outputs themselves belong to their runs and
	// are not deleted. Defaults to 0: forever.
	KeepOutputs time.Duration `config:"keepOutputs"`
	// CollectEvery is how often expired reservations and old entries are deleted. Defaults to 1m.
	CollectEvery time.Duration `config:"collectEvery"`
	// Lease is how long the replica that collects may be silent before another takes over. Defaults to 15s.
	Lease time.Duration `config:"lease"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{MaxHeartbeat: 10 * time.Second, HeartbeatGrace: 3, CollectEvery: time.Minute, Lease: 15 * time.Second}
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.MaxHeartbeat < 100*time.Millisecond, "maxHeartbeat: must be at least 100ms, got %s", c.MaxHeartbeat)
	found.If(c.HeartbeatGrace < 2, "heartbeatGrace: must be at least 2, got %d", c.HeartbeatGrace)
	found.If(c.KeepOutputs < 0, "keepOutputs: must not be negative, got %s", c.KeepOutputs)
	found.If(c.CollectEvery <= 0, "collectEvery: must be positive, got %s", c.CollectEvery)
	found.If(c.Lease < 3*time.Second, "lease: must be at least 3s, got %s", c.Lease)
	return found.Err()
}
