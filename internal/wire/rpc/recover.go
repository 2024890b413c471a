package rpc

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"runtime/debug"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
)

// recovered answers a panic with internal and an id, under which the log has the panic and its stack.
func recovered(ctx context.Context, _ connect.Spec, _ http.Header, value any) error {
	id := errorID()
	zerolog.Ctx(ctx).Error().Str("errorId", id).Str("panic", fmt.Sprint(value)).Bytes("stack", debug.Stack()).
		Msg("handler panicked")
	return toConnect(Internal(nil, "internal error (id %s); see the server log", id))
}

// errorID is what a client can quote and an operator can look for.
func errorID() string { return rand.Text()[:12] }
