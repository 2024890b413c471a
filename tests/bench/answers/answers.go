// Package answers is the program that the benchmark's apps run: it does nothing but answer.
package answers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"
)

const (
	// Command makes the benchmark the program that apps run.
	Command = "answer"
	// Env makes the test binary that program instead of testing; the program itself does not look at it.
	Env = "FLYTEBENCH_ANSWER"
)

// Serve answers with a few bytes at an address. It is a process of its own, as apps are: in the process of the client it would
// share the client's scheduler, which makes it look faster than any app is. With a second address it passes requests on to
// that, with no more than the proxy of Go's library.
func Serve(ctx context.Context, args []string) error {
	if len(args) < 1 || len(args) > 2 {
		return fmt.Errorf("usage: bench %s HOST:PORT [HOST:PORT]", Command)
	}
	var handler http.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "hello\n") // the client may have gone
	})
	if len(args) == 2 {
		handler = &httputil.ReverseProxy{
			Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true},
			Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: args[1]}) },
		}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", args[0])
	if err != nil {
		return err
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: handler}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
