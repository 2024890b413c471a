package manager

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

// logLevel is the handler of the route.
type logLevel struct {
	level *obs.Level // nil where the embedding program made the log
	log   zerolog.Logger
}

// ServeHTTP implements http.Handler.
func (l logLevel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if l.level == nil {
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
	_ = json.NewEncoder(w).Encode(LogLevels{Level: l.level.Current(), Configured: l.level.Configured()})
}

func (l logLevel) change(body io.Reader) (status int, err error) {
	const longest = 16
	text, err := io.ReadAll(io.LimitReader(body, longest+1))
	if err != nil || len(text) > longest {
		return http.StatusBadRequest, errors.New("the body is not a level: trace, debug, info, warn or error")
	}
	before := l.level.Current()
	if err := l.level.Set(strings.TrimSpace(string(text))); err != nil {
		return http.StatusBadRequest, err
	}
	l.log.WithLevel(zerolog.WarnLevel).Str("from", before).Str("to", l.level.Current()).Msg("log level changed until the next restart")
	return http.StatusOK, nil
}
