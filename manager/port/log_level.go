package port

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/obs"
)

// LogLevelPath is the plain route of the level of the log: GET reads it, PUT with a level as its body changes it until the
// process ends.
const LogLevelPath = "/log-level"

// LogLevels is the answer of the route.
type LogLevels struct {
	// Level is the level now, Configured that of logging.level.
	Level      string `json:"level"`
	Configured string `json:"configured"`
}

// LogLevel is the handler of the route.
type LogLevel struct {
	Level *obs.Level // nil where the embedding program made the log
	Log   zerolog.Logger
}

// ServeHTTP implements http.Handler.
func (l LogLevel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if l.Level == nil {
		http.Error(w, "the log of this process has no level that can be changed", http.StatusNotImplemented)
		return
	}
	if r.Method == http.MethodPut {
		if status, err := l.change(r.Body); err != nil {
			http.Error(w, err.Error(), status)
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	// A failed write means that the client has gone.
	_ = json.NewEncoder(w).Encode(LogLevels{Level: l.Level.Current(), Configured: l.Level.Configured()})
}

func (l LogLevel) change(body io.Reader) (status int, err error) {
	const longest = 16
	text, err := io.ReadAll(io.LimitReader(body, longest+1))
	if err != nil || len(text) > longest {
		return http.StatusBadRequest, errors.New("the body is not a level: trace, debug, info, warn or error")
	}
	before := l.Level.Current()
	if err := l.Level.Set(strings.TrimSpace(string(text))); err != nil {
		return http.StatusBadRequest, err
	}
	l.Log.WithLevel(zerolog.WarnLevel).Str("from", before).Str("to", l.Level.Current()).Msg("log level changed until the next restart")
	return http.StatusOK, nil
}
