package obs

import (
	"fmt"
	"io"

	"github.com/rs/zerolog"
)

// Level is the lowest level that the process logs. It can be changed while the process runs; after a restart it is that of
// the configuration again. It rests on zerolog's level of the process, the only one that loggers that were handed out obey, so
// a process makes one Level.
type Level struct{ configured zerolog.Level }

// NewAdjustableLogger creates the logger of a process and its level. out is usually the standard error.
func NewAdjustableLogger(config LogConfig, out io.Writer) (zerolog.Logger, *Level, error) {
	log, err := NewLogger(config, out)
	if err != nil {
		return log, nil, err
	}
	level := &Level{configured: log.GetLevel()}
	zerolog.SetGlobalLevel(level.configured)
	return log.Level(zerolog.TraceLevel), level, nil
}

// Current is the level now, Configured that of the configuration.
func (l *Level) Current() string    { return zerolog.GlobalLevel().String() }
func (l *Level) Configured() string { return l.configured.String() }

// Set changes the level: to trace, debug, info, warn or error. The empty text is the level of the configuration.
func (l *Level) Set(text string) error {
	if text == "" {
		zerolog.SetGlobalLevel(l.configured)
		return nil
	}
	if err := (LogConfig{Level: text, Format: "auto"}).Validate(); err != nil {
		return err
	}
	level, err := zerolog.ParseLevel(text)
	if err != nil {
		return fmt.Errorf("level: %w", err)
	}
	zerolog.SetGlobalLevel(level)
	return nil
}
