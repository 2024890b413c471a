package obs

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// LogConfig configures logging.
type LogConfig struct {
	// Level is the lowest level that is logged: trace, debug, info, warn or error. Defaults to info.
	Level string `config:"level"`
	// Format is json, pretty, or auto: pretty on a terminal, else json. Defaults to auto.
	Format string `config:"format"`
}

// DefaultLogConfig has every default.
func DefaultLogConfig() LogConfig { return LogConfig{Level: "info", Format: "auto"} }

// Validate names the field that is wrong.
func (c LogConfig) Validate() error {
	var found invalid.Fields
	switch c.Level {
	case "trace", "debug", "info", "warn", "error":
	default:
		found.Add("level: %q is not one of trace, debug, info, warn, error", c.Level)
	}
	switch c.Format {
	case "json", "pretty", "auto":
	default:
		found.Add("format: %q is not one of json, pretty, auto", c.Format)
	}
	return found.Err()
}

// NewLogger creates the logger of the process. out is usually the standard error.
func NewLogger(config LogConfig, out io.Writer) (zerolog.Logger, error) {
	if err := config.Validate(); err != nil {
		return zerolog.Nop(), fmt.Errorf("logging: %w", err)
	}
	level, err := zerolog.ParseLevel(config.Level)
	if err != nil {
		return zerolog.Nop(), fmt.Errorf("logging: level: %w", err)
	}
	if config.Format == "pretty" || (config.Format == "auto" && isTerminal(out)) {
		out = zerolog.ConsoleWriter{Out: out, TimeFormat: time.TimeOnly}
	}
	return zerolog.New(out).Level(level).Hook(utcTime{}), nil
}

// utcTime stamps lines with the time in UTC. It does not use the injected clock, since no
// decision depends on the time of a log line.
type utcTime struct{}

// Run implements zerolog.Hook.
func (utcTime) Run(event *zerolog.Event, _ zerolog.Level, _ string) {
	event.Time(zerolog.TimestampFieldName, time.Now().UTC())
}

func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
