package main

import (
	"context"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions/actionsconnect"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// server is how the process reaches the server.
type server struct {
	actions actionsconnect.ActionsServiceClient
}

// connectTo speaks HTTP/2 without TLS, with the pings by which the SDK's client finds dead connections. The endpoint is a URL whose
// path has the token of the attempt, as the SDK takes it.
func connectTo(endpoint string) *server {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	client := &http.Client{Transport: &http.Transport{
		Protocols: protocols, DisableCompression: true,
		HTTP2: &http.HTTP2Config{SendPingTimeout: time.Second, PingTimeout: time.Second},
	}}
	return &server{actions: actionsconnect.NewActionsServiceClient(client, endpoint)}
}

// callTimeout is how long the SDK waits for an answer.
const callTimeout = 5 * time.Second

// firstPause and maxPause bound the pauses between retries.
const (
	firstPause = 50 * time.Millisecond
	maxPause   = time.Second
)

// insist retries a call until its answer is final.
func insist(ctx context.Context, call func(context.Context) error) error {
	retries := backoff.New(firstPause, maxPause)
	for {
		once, cancel := context.WithTimeout(ctx, callTimeout)
		err := call(once)
		cancel()
		if err == nil || final(err) {
			return err
		}
		if retries.Wait(ctx, clock.System{}) != nil {
			return err
		}
	}
}

// final reports whether a retry cannot help.
func final(err error) bool {
	switch connect.CodeOf(err) {
	case connect.CodeInvalidArgument, connect.CodeNotFound, connect.CodeAlreadyExists, connect.CodeFailedPrecondition,
		connect.CodePermissionDenied, connect.CodeUnauthenticated, connect.CodeUnimplemented:
		return true
	default:
		return false
	}
}
