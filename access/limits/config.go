package limits

import "github.com/flyte-binary/flyte-binary/internal/invalid"

// Config bounds what callers ask for. A limit of 0 is none. Each process counts by itself: with several replicas of the API,
// a caller may reach a limit at each.
type Config struct {
	// RequestsPerSecond is how many requests a person or an API key makes on average. One that was idle may make those of ten
	// seconds at once. Defaults to 500.
	RequestsPerSecond int `config:"requestsPerSecond"`
	// Streams is how many streams, such as watches and logs, a person or an API key has open. Defaults to 500.
	Streams int `config:"streams"`
	// RunsPerMinute is how many runs a person or an API key creates. Runs that tasks create count for their project alone.
	// Defaults to 6000.
	RunsPerMinute int `config:"runsPerMinute"`
	// ProjectRunsPerMinute is how many runs are created by call in a project, by all its callers together. Runs of schedules and other
	// triggers do not count. Defaults to 0.
	ProjectRunsPerMinute int `config:"projectRunsPerMinute"`
	// UploadsPerMinute is how many uploads of files and inputs a person or an API key requests. Those of tasks count for their
	// project alone. Defaults to 6000.
	UploadsPerMinute int `config:"uploadsPerMinute"`
	// ProjectUploadsPerMinute is how many uploads of files and inputs are requested in a project, by all its callers together.
	// Defaults to 0.
	ProjectUploadsPerMinute int `config:"projectUploadsPerMinute"`
}

// DefaultConfig returns limits that only programs in error reach.
func DefaultConfig() Config {
	return Config{RequestsPerSecond: 500, Streams: 500, RunsPerMinute: 6000, UploadsPerMinute: 6000}
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	for _, field := range []struct {
		name  string
		value int
	}{
		{"requestsPerSecond", c.RequestsPerSecond},
		{"streams", c.Streams},
		{"runsPerMinute", c.RunsPerMinute},
		{"projectRunsPerMinute", c.ProjectRunsPerMinute},
		{"uploadsPerMinute", c.UploadsPerMinute},
		{"projectUploadsPerMinute", c.ProjectUploadsPerMinute},
	} {
		found.If(field.value < 0 || field.value > 1_000_000, "%s: must be between 0 and 1000000, got %d", field.name, field.value)
	}
	return found.Err()
}
