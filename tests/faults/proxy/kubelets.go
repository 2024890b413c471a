package proxy

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
)

// Kubelets forwards what is asked of kubelets through the API server, which itself refuses those on the loopback. On request it
// takes such requests and does not answer.
type Kubelets struct {
	// Address is the address of a node's kubelet.
	Address func(ctx context.Context, node string) (string, error)
	// Certificate is that of the API server.
	Certificate tls.Certificate

	mu      sync.Mutex
	hanging chan struct{} // GUARDED_BY(mu): closed when requests are answered again; nil when they are
}

// Hang keeps requests without an answer until Hang(false).
func (k *Kubelets) Hang(on bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.hanging != nil {
		close(k.hanging)
		k.hanging = nil
	}
	if on {
		k.hanging = make(chan struct{})
	}
}

// take answers a request if it is for a kubelet.
func (k *Kubelets) take(w http.ResponseWriter, r *http.Request) bool {
	below, found := strings.CutPrefix(r.URL.Path, "/api/v1/nodes/")
	node, path, proxied := strings.Cut(below, "/proxy/")
	if k == nil || !found || !proxied {
		return false
	}
	k.mu.Lock()
	hanging := k.hanging
	k.mu.Unlock()
	if hanging != nil {
		select {
		case <-hanging:
		case <-r.Context().Done():
			return true
		}
	}
	address, err := k.Address(r.Context(), node)
	if err != nil {
		refuse(w, http.StatusServiceUnavailable)
		return true
	}
	forward := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) { p.Out.URL = &url.URL{Scheme: "https", Host: address, Path: "/" + path} },
		Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
			InsecureSkipVerify: true, Certificates: []tls.Certificate{k.Certificate},
		}},
		ErrorLog:     log.New(io.Discard, "", 0), // errors are expected
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	forward.ServeHTTP(w, r)
	return true
}
