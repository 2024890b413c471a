package manager

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/lifecycle"
)

// profiles serves Go's own profiles of the process at an address apart from the API, when one is configured. Whoever
// reaches it may see memory and cost CPU, so it belongs on loopback.
type profiles struct {
	address string
	server  *http.Server
	served  chan struct{}
}

var _ lifecycle.Part = (*profiles)(nil)

// Start implements lifecycle.Part.
func (p *profiles) Start(context.Context) error {
	if p.address == "" {
		return nil
	}
	listener, err := net.Listen("tcp", p.address) //nolint:noctx // binding does not wait
	if err != nil {
		return fmt.Errorf("telemetry.debugListen: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	p.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	p.served = make(chan struct{})
	go func() {
		defer close(p.served)
		_ = p.server.Serve(listener) // it ends with Stop; a failure costs nothing but profiles
	}()
	return nil
}

// Stop implements lifecycle.Part. Profiles under way are cut off.
func (p *profiles) Stop(context.Context) error {
	if p.served == nil {
		return nil
	}
	err := p.server.Close()
	<-p.served
	return err
}
