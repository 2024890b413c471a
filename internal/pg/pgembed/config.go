package pgembed

import (
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/supervise"
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
	// Primary, where set, is the connection string of a running server of the same version. A server without data then copies
	// it and follows it, as a standby that calls itself "standby". For tests: the copy has no password of its own.
	Primary string
	// Restart restarts the server after it died.
	Restart bool
	// OnExit is called when the server died, with the last lines of its log. May be nil.
	OnExit func(error)
	// Log gets the server's own log at debug level.
	Log zerolog.Logger
	// Waiting, where set, is called every few seconds of a slow start with what it waits for.
	Waiting func(text string)
	// Clock paces restarts. Defaults to the system's.
	Clock clock.Clock
}

// patience is for the creation of the database cluster and for each start of the server, of which recovery after a crash
// is a part: postgres logs its progress. Each has its own.
func (c Config) patience() supervise.Patience {
	return supervise.Patience{Total: startTotal, Waiting: c.Waiting}
}

// startTotal is the longest start that is waited for while it makes progress.
const startTotal = 30 * time.Minute

func (c Config) withDefaults() Config {
	if c.MaxConnections == 0 {
		c.MaxConnections = 200
	}
	if c.Clock == nil {
		c.Clock = clock.System{}
	}
	return c
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var wrong invalid.Fields
	wrong.If(c.DataDir == "", "dataDir: required")
	wrong.If(!filepath.IsAbs(c.DataDir), "dataDir: must be absolute, got %q", c.DataDir)
	wrong.If(c.MaxConnections < 0, "maxConnections: must not be negative, got %d", c.MaxConnections)
	wrong.If(c.Port < 0 || c.Port > 65535, "port: must be between 0 and 65535, got %d", c.Port)
	return wrong.Err()
}
