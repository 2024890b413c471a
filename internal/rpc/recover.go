package rpc

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/rs/zerolog"
)

// recoverPanics answers a panic with internal and an id; the log has the same id and the stack. It also gives the
// request its logger, since it is the outermost.
func recoverPanics(log zerolog.Logger) around {
	return func(ctx context.Context, call call, next func(context.Context) error) (err error) {
		fields := log.With().Str("procedure", call.procedure)
		if id := call.header.Get("X-Request-Id"); id != "" {
			fields = fields.Str("requestId", id)
		}
		logger := fields.Logger()
		defer func() {
			value := recover()
			if value == nil {
				return
			}
			if value == http.ErrAbortHandler { //nolint:errorlint // net/http compares likewise
				panic(value)
			}
			id := errorID()
			logger.Error().Str("errorId", id).Str("panic", fmt.Sprint(value)).Bytes("stack", debug.Stack()).
				Msg("handler panicked")
			err = toConnect(Internal(nil, "the server made an error; its log has it as %s", id))
		}()
		return next(logger.WithContext(ctx))
	}
}

// errorID is what a client can quote and an operator can look for.
func errorID() string { return rand.Text()[:12] }
