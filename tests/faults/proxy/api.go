package proxy

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"
)

// API forwards requests to a Kubernetes API server. On request it refuses a share of them, or forwards them late.
type API struct {
	listener net.Listener
	server   *http.Server
	served   sync.WaitGroup

	mu      sync.Mutex
	share   float64       // GUARDED_BY(mu): of requests that are refused
	status  int           // GUARDED_BY(mu)
	refused int           // GUARDED_BY(mu)
	delay   time.Duration // GUARDED_BY(mu)
	healed  chan struct{} // GUARDED_BY(mu): closed when the delay has changed
}

// NewAPI listens on a free port of the loopback, without TLS. Clients send no token that way, so it adds one.
// Requests for kubelets go to kubelets, unless it is nil.
func NewAPI(target, token string, kubelets *Kubelets) (*API, error) {
	to, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("address of the API server: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // binding does not wait
	if err != nil {
		return nil, err
	}
	p := &API{listener: listener, healed: make(chan struct{})}
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Header.Set("Authorization", "Bearer "+token)
		},
		FlushInterval: -1, // watches
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
			MaxIdleConns:    100, MaxIdleConnsPerHost: 100, IdleConnTimeout: 30 * time.Second,
		},
		ErrorLog:     log.New(io.Discard, "", 0), // errors are expected
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	p.server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status := p.refusal(r.Method); status != 0 {
			refuse(w, status)
			return
		}
		if p.hold(r) && !kubelets.take(w, r) {
			forward.ServeHTTP(w, r)
		}
	})}
	p.served.Go(func() { _ = p.server.Serve(listener) }) // until Close
	return p, nil
}

// URL is where the proxy listens.
func (p *API) URL() string { return "http://" + p.listener.Addr().String() }

// Fail refuses a share of the requests with a status, 429 or 409; a share of 0 stops it. A 409 is the answer to writes only.
func (p *API) Fail(share float64, status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.share, p.status = share, status
}

// Slow forwards every request but watches only after a delay, as an overloaded server does; 0 stops it, also for those that wait.
func (p *API) Slow(delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = delay
	close(p.healed)
	p.healed = make(chan struct{})
}

// hold returns true after the delay, or false when the client has left.
func (p *API) hold(r *http.Request) bool {
	p.mu.Lock()
	delay, healed := p.delay, p.healed
	p.mu.Unlock()
	if delay == 0 || r.URL.Query().Has("watch") {
		return true
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-healed:
	case <-r.Context().Done():
		return false
	}
	return true
}

// Refused counts the refusals.
func (p *API) Refused() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused
}

// Close stops the proxy and everything that goes through it.
func (p *API) Close() {
	_ = p.server.Close() // it drops its connections
	p.served.Wait()
}

func (p *API) refusal(method string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.share == 0 || rand.Float64() >= p.share {
		return 0
	}
	if p.status == http.StatusConflict && (method == http.MethodGet || method == http.MethodPost) {
		return 0
	}
	p.refused++
	return p.status
}

// refuse answers as an API server does.
func refuse(w http.ResponseWriter, status int) {
	reason := "Conflict"
	if status == http.StatusTooManyRequests {
		reason = "TooManyRequests"
		w.Header().Set("Retry-After", "1")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"refused by the storm","reason":%q,"code":%d}`, reason, status)
}
