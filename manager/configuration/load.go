package configuration

import (
	"errors"
	"fmt"
	"os"

	"github.com/flyte-binary/flyte-binary/manager/layers"
)

// EnvPrefix starts the environment variables that override the file: FLYTE_SERVER_LISTEN sets server.listen.
const EnvPrefix = "FLYTE"

// Load reads the configuration: defaults, then the file (none when path is empty), then the environment, then
// overrides of the form section.key=value. The error lists every problem with its place, from the top of the file to its end:
// unknown keys, values that cannot be read, and values that Validate refuses.
func Load(path string, overrides []string) (Config, error) {
	config, origins, err := read(path, overrides)
	var problems layers.Problems
	if err != nil && !errors.As(err, &problems) {
		return Config{}, err
	}
	misread := len(problems) > 0
	for _, problem := range origins.Locate(config.Validate()) {
		// A key that is missing may be one that was misspelled.
		if !misread || !problem.Origin.IsDefault() {
			problems = append(problems, problem)
		}
	}
	if len(problems) > 0 {
		return Config{}, &ConfigError{problems.InOrder()}
	}
	return config, nil
}

// Read is Load without validating the values. It also returns where each value came from.
func Read(path string, overrides []string) (Config, layers.Origins, error) {
	config, origins, err := read(path, overrides)
	var problems layers.Problems
	if errors.As(err, &problems) {
		err = &ConfigError{problems}
	}
	return config, origins, err
}

func read(path string, overrides []string) (Config, layers.Origins, error) {
	config := DefaultConfig()
	origins, err := layers.Read(&config, layers.Sources{
		File: path, Prefix: EnvPrefix, Environment: os.Environ(), Overrides: overrides, Flag: "--set",
	})
	if err != nil && origins == nil {
		err = &ConfigError{err}
	}
	return config, origins, err
}

// ConfigError is a configuration that cannot be used.
type ConfigError struct{ Cause error }

// Error implements error.
func (e *ConfigError) Error() string { return "configuration: " + e.Cause.Error() }

// Unwrap returns the problems.
func (e *ConfigError) Unwrap() error { return e.Cause }

// CheckDatabase validates only the section database, for commands that use nothing else.
func (c Config) CheckDatabase(origins layers.Origins) error {
	if err := c.Database.Validate(); err != nil {
		return &ConfigError{origins.Locate(fmt.Errorf("database.%w", err))}
	}
	return nil
}
