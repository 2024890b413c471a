package pgembed

import (
	"errors"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/clock"
)

// Config configures the private server.
type Config struct {
	// DataDir is the data directory. It is created if it does not exist. Required, absolute.
	DataDir string
	// BinDir has initdb and postgres. Empty means the result of Find.
	BinDir string
	// Ephemeral trades durability for speed: nothing is synced to disk. For tests only. Everything acknowledged is
	// lost when the machine stops, though not when the process does.
	Ephemeral bool
	// Port makes the server listen on 127.0.0.1 too, for tests that put a proxy between. 0 means the socket only.
	Port int
	// MaxConnections of the server. Defaults to 200.
	MaxConnections int
	// Settings are further server settings by name.
	Settings map[string]string
	// Restart restarts the server after it died.
	Restart bool
	// OnExit is called when the server died, with the last lines of its log. May be nil.
	OnExit func(error)
	// Log gets the server's own log at debug level.
	Log zerolog.Logger
	// Clock paces restarts. Defaults to the system's.
	Clock clock.Clock
}

// startLimit is how long the server may take to accept connections; recovery after a crash is part of it.
const startLimit = 60 * time.Second

func (c Config) withDefaults() Config {
	if c.MaxConnections == 0 {
		c.MaxConnections = 200
	}
	if c.Clock == nil {
		c.Clock = clock.System{}
	}
	return c
}

// Validate names the field that is wrong.
func (c Config) Validate() error {
	switch {
	case c.DataDir == "":
		return errors.New("dataDir: required")
	case !filepath.IsAbs(c.DataDir):
		return errors.New("dataDir: must be absolute")
	case c.MaxConnections < 0:
		return errors.New("maxConnections: must not be negative")
	case c.Port < 0 || c.Port > 65535:
		return errors.New("port: must be between 0 and 65535")
	}
	return nil
}
