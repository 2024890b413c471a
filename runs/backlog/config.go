package backlog

import "github.com/flyte-binary/flyte-binary/internal/invalid"

// Config bounds what a project, and a caller, may have under way before CreateRun refuses more. With 0 there is no limit.
type Config struct {
	// WaitingRuns is how many runs of a project may wait to start: those whose first action does not run yet. Defaults to
	// 20000.
	WaitingRuns int `config:"waitingRuns"`
	// Actions is how many actions of a project may be unfinished when a run is created. Defaults to 0.
	Actions int `config:"actions"`
	// CallerActions is how many actions may be unfinished in the runs that a person or an API key has created, in all projects together,
	// when it creates another run. Defaults to 0.
	CallerActions int `config:"callerActions"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config { return Config{WaitingRuns: 20_000} }

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.WaitingRuns < 0, "waitingRuns: must not be negative, got %d", c.WaitingRuns)
	found.If(c.Actions < 0, "actions: must not be negative, got %d", c.Actions)
	found.If(c.CallerActions < 0, "callerActions: must not be negative, got %d", c.CallerActions)
	return found.Err()
}
