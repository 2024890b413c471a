package main

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

// serve is a replica of an app: it answers every request with what it is, until SIGTERM.
func serve() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", os.Getenv("PORT"))) //nolint:noctx // binding does not wait
	if err != nil {
		return err
	}
	own := script.AppAnswer{App: os.Getenv(script.AppEnv), Tag: os.Getenv(script.TagEnv), Cluster: os.Getenv(script.ClusterEnv)}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(own) // the caller may have gone
	})}
	go func() {
		<-ctx.Done()
		_ = server.Shutdown(context.Background()) // the pod's grace period bounds it
	}()
	if err := server.Serve(listener); err != http.ErrServerClosed {
		return err
	}
	return nil
}
