package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"time"
)

const (
	// answerCommand makes this program the one that apps run.
	answerCommand = "answer"
	// answerEnv makes the test binary that program instead of testing; the program itself does not look at it.
	answerEnv = "FLYTEBENCH_ANSWER"
)

// answer serves a few bytes at an address. It is a process of its own, as apps are: in the process of the client it would
// share the client's scheduler, which makes it look faster than any app is. With a second address it passes requests on to
// that, with no more than the proxy of Go's library.
func answer(ctx context.Context, args []string) error {
	if len(args) < 1 || len(args) > 2 {
		return fmt.Errorf("usage: bench %s HOST:PORT [HOST:PORT]", answerCommand)
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

// appProgram is a program that an app runs.
type appProgram struct {
	// name is that of the app; label is put before the names of the figures, empty for the main ones.
	name, label string
	// requests are those of each turn, and those sent at a constant rate.
	requests int
	command  func(port int) ([]string, error)
}

//go:embed app_fastapi.py
var fastAPI string

// programs are the apps that are measured: one that costs nothing by itself, and one that costs what apps of users do.
func (c appsCase) programs() ([]appProgram, error) {
	python, err := pythonWithSDK(c.python)
	if err != nil {
		return nil, err
	}
	return []appProgram{
		{name: "answers", requests: c.requests, command: answering},
		{
			name: "fastapi", label: "FastAPI ", requests: max(c.requests/5, 1),
			command: func(port int) ([]string, error) { return []string{python, "-c", fastAPI, strconv.Itoa(port)}, nil },
		},
	}, nil
}
