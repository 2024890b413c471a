package limits

import "github.com/flyte-binary/flyte-binary/internal/invalid"

// Config bounds what callers ask for. A limit of 0 is none. Each process counts by itself: with several replicas of the API,
// a caller may reach a limit at each. The limits of a project hold for all its callers together: people, API keys, tasks, and callers
// without a name. Parts of the installation have none.
type Config struct {
	// RequestsPerSecond is how many requests a person or an API key makes on average. One that was idle may make those of ten
	// seconds at once. Defaults to 500.
	RequestsPerSecond int `config:"requestsPerSecond"`
	// ProjectRequestsPerSecond is how many calls that name a project are made on average, by all its callers together. A project that
	// was idle may have those of ten seconds at once. Lists and searches over several projects do not count. Defaults to 0.
	ProjectRequestsPerSecond int `config:"projectRequestsPerSecond"`
	// Streams is how many streams, such as watches and logs, a person or an API key has open. Defaults to 500.
	Streams int `config:"streams"`
	// ProjectStreams is how many streams that name a project are open, by all its callers together. Each running parent has one.
	// Defaults to 0.
	ProjectStreams int `config:"projectStreams"`
	// RequestBytes is the size of the largest message that a person or an API key sends, unpacked. No message is larger than
	// server.maxRequestBytes. Defaults to 0.
	RequestBytes int `config:"requestBytes"`
	// ProjectRequestBytes is the size of the largest message about a project, unpacked, from any of its callers. Defaults to 0.
	ProjectRequestBytes int `config:"projectRequestBytes"`
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
	const most, mostBytes = 1_000_000, 1 << 30
	var found invalid.Fields
	for _, field := range []struct {
		name        string
		value, most int
	}{
		{"requestsPerSecond", c.RequestsPerSecond, most},
		{"projectRequestsPerSecond", c.ProjectRequestsPerSecond, most},
		{"streams", c.Streams, most},
		{"projectStreams", c.ProjectStreams, most},
		{"requestBytes", c.RequestBytes, mostBytes},
		{"projectRequestBytes", c.ProjectRequestBytes, mostBytes},
		{"runsPerMinute", c.RunsPerMinute, most},
		{"projectRunsPerMinute", c.ProjectRunsPerMinute, most},
		{"uploadsPerMinute", c.UploadsPerMinute, most},
		{"projectUploadsPerMinute", c.ProjectUploadsPerMinute, most},
	} {
		found.If(field.value < 0 || field.value > field.most, "%s: must be between 0 and %d, got %d", field.name, field.most, field.value)
	}
	return found.Err()
}
