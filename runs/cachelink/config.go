package cachelink

import (
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// Config says how tasks use the cache of outputs.
type Config struct {
	// Enabled switches the cache on. When it is off, tasks that use the cache run without it. Defaults to true.
	Enabled bool `config:"enabled"`
	// MaxAge is the largest age of entries for tasks that do not set one themselves. Defaults to 0: any age.
	MaxAge time.Duration `config:"maxAge"`
	// Batch is how many actions are looked up before their outcomes are stored. Defaults to 500.
	Batch int `config:"batch"`
	// Concurrency is how many calls to the cache are in flight at once, for lookups and for publishing each. Defaults
	// to 8.
	Concurrency int `config:"concurrency"`
	// Poll is how often held actions are read when nothing wakes the loops. Defaults to 10s.
	Poll time.Duration `config:"poll"`
	// ReservationPoll is how often actions that wait for a key check again. Defaults to 1s.
	ReservationPoll time.Duration `config:"reservationPoll"`
	// Heartbeat is how often reservations are extended; the cache may require a shorter interval. Defaults to 10s.
	Heartbeat time.Duration `config:"heartbeat"`
	// CallTimeout bounds one call to the cache. Defaults to 5s.
	CallTimeout time.Duration `config:"callTimeout"`
	// Tries is how often a call is tried whose failure is not caused by the request. Defaults to 3.
	Tries int `config:"tries"`
	// Shared lets runs share entries with the whole installation where people sign in, if they ask for it, as the SDK does by default. Otherwise they
	// share them within their project and domain. Where access is open, they always may. Defaults to false.
	Shared bool `config:"shared"`
	// Lease is how long the replica that keeps reservations may be silent before another takes over. Defaults to 6s.
	Lease time.Duration `config:"lease"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{
		Enabled: true, Batch: 500, Concurrency: 8, Poll: 10 * time.Second, ReservationPoll: time.Second, Heartbeat: 10 * time.Second,
		CallTimeout: 5 * time.Second, Tries: 3, Lease: 6 * time.Second,
	}
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.MaxAge < 0, "maxAge: must not be negative, got %s", c.MaxAge)
	found.If(c.Batch < 1, "batch: must be positive, got %d", c.Batch)
	found.If(c.Concurrency < 1, "concurrency: must be positive, got %d", c.Concurrency)
	found.If(c.Poll <= 0, "poll: must be positive, got %s", c.Poll)
	found.If(c.ReservationPoll <= 0, "reservationPoll: must be positive, got %s", c.ReservationPoll)
	found.If(c.Heartbeat <= 0, "heartbeat: must be positive, got %s", c.Heartbeat)
	found.If(c.CallTimeout <= 0, "callTimeout: must be positive, got %s", c.CallTimeout)
	found.If(c.Tries < 1, "tries: must be positive, got %d", c.Tries)
	found.If(c.Lease < 3*time.Second, "lease: must be at least 3s, got %s", c.Lease)
	return found.Err()
}
