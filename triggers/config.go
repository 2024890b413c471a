package triggers

import (
	"slices"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// Config configures triggers.
type Config struct {
	// CatchUp is what happens to slots that were missed while nothing could fire them, for triggers that do not say so
	// themselves: none, latest or all. Defaults to all.
	CatchUp string `config:"catchUp"`
	// CatchUpLimit is how many missed slots of a trigger fire at most with CatchUp all; the newest count. Defaults to 100.
	CatchUpLimit int `config:"catchUpLimit"`
	// LateAfter is how late a slot may fire and still count as on time; later it is a missed slot. Defaults to 1m.
	LateAfter time.Duration `config:"lateAfter"`
	// Parallel is how many triggers start runs at the same time. Defaults to 16.
	Parallel int `config:"parallel"`
	// Poll is the longest pause of the scheduler between two looks at the clock, for the case that it was set. One look
	// is two index lookups, however many triggers there are. Defaults to 5s.
	Poll time.Duration `config:"poll"`
	// RetryMax is the longest pause between two tries to create the run of a slot. Defaults to 1m.
	RetryMax time.Duration `config:"retryMax"`
	// KeepSlots is how long the history of slots is kept; the runs are not concerned. 0 means forever. Defaults to 2160h,
	// 90 days.
	KeepSlots time.Duration `config:"keepSlots"`
	// MaxPerMinute is how many runs a trigger starts within a minute at most; further slots and versions wait. Backfills do not
	// count. 0 means no limit. Defaults to 120.
	MaxPerMinute int `config:"maxPerMinute"`
	// MaxUnfinished is how many runs of a trigger may be unfinished, whatever started them; further slots and versions wait until
	// some of them have ended. 0 means no limit. Defaults to 500.
	MaxUnfinished int `config:"maxUnfinished"`
	// MaxWaiting is how many versions of an artifact may wait for their runs of one trigger; further versions are skipped. 0 means
	// no limit. Defaults to 10000.
	MaxWaiting int `config:"maxWaiting"`
	// Lease is how long the replica that schedules may be silent before another takes over. Defaults to 15s.
	Lease time.Duration `config:"lease"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{
		CatchUp: catchUpAll, CatchUpLimit: 100, LateAfter: time.Minute, Parallel: 16, Poll: 5 * time.Second, RetryMax: time.Minute,
		MaxPerMinute: 120, MaxUnfinished: 500, MaxWaiting: 10_000,
		KeepSlots: 90 * 24 * time.Hour, Lease: 15 * time.Second,
	}
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(!slices.Contains([]string{catchUpNone, catchUpLatest, catchUpAll}, c.CatchUp),
		"catchUp: must be none, latest or all, got %q", c.CatchUp)
	found.If(c.CatchUpLimit < 1 || c.CatchUpLimit > maxCatchUp,
		"catchUpLimit: must be from 1 to %d, got %d", maxCatchUp, c.CatchUpLimit)
	found.If(c.LateAfter < time.Second, "lateAfter: must be at least 1s, got %s", c.LateAfter)
	found.If(c.Parallel < 1, "parallel: must be at least 1, got %d", c.Parallel)
	found.If(c.Poll < 100*time.Millisecond, "poll: must be at least 100ms, got %s", c.Poll)
	found.If(c.RetryMax < time.Second, "retryMax: must be at least 1s, got %s", c.RetryMax)
	found.If(c.KeepSlots < 0, "keepSlots: must not be negative, got %s", c.KeepSlots)
	found.If(c.MaxPerMinute < 0 || c.MaxPerMinute > 10_000, "maxPerMinute: must be from 0 to 10000, got %d", c.MaxPerMinute)
	found.If(c.MaxUnfinished < 0, "maxUnfinished: must not be negative, got %d", c.MaxUnfinished)
	found.If(c.MaxWaiting < 0, "maxWaiting: must not be negative, got %d", c.MaxWaiting)
	found.If(c.Lease < 3*time.Second, "lease: must be at least 3s, got %s", c.Lease)
	return found.Err()
}
