package manager

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

// profiles serves Go's own profiles of the process at an address apart from the API, when one is configured. A
// caller with the permission can read memory and use CPU, so it belongs on loopback.
type profiles struct {
	address string
	chain   rpc.Chain
	server  *http.Server
	served  chan struct{}
}

var _ lifecycle.Part = (*profiles)(nil)

// Start implements lifecycle.Part.
func (p *profiles) Start(context.Context) error {
	if p.address == "" {
		return nil
	}
	mux, err := rpc.NewGuardedMux(p.chain)
	if err != nil {
		return err
	}
	mux.Handle("GET /debug/pprof/", http.HandlerFunc(pprof.Index))
	mux.Handle("GET /debug/pprof/profile", http.HandlerFunc(pprof.Profile))
	mux.Handle("GET /debug/pprof/trace", http.HandlerFunc(pprof.Trace))
	listener, err := net.Listen("tcp", p.address) //nolint:noctx // binding does not wait
	if err != nil {
		return fmt.Errorf("telemetry.debugListen: %w", err)
	}
	p.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	p.served = make(chan struct{})
	go func() {
		defer close(p.served)
		_ = p.server.Serve(listener) // it returns on Stop; a failure only loses profiles
	}()
	return nil
}

// Stop implements lifecycle.Part. Profiles in flight are cut off.
func (p *profiles) Stop(context.Context) error {
	if p.served == nil {
		return nil
	}
	err := p.server.Close()
	<-p.served
	return err
}
