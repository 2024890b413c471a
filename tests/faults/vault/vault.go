// Package vault is the Vault of a storm: the part of its HTTP API that reading secrets takes. It can be sealed and opened
// again. secret/vault has a stricter double for all calls. It serves the fault suite and imports nothing of the product.
package vault

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Token is the token that is accepted.
const Token = "of-the-storm"

// Prefix is the path of all secrets in the mount Mount.
const (
	Mount  = "kv"
	Prefix = "flyte"
)

// Server is a Vault. It is safe for concurrent use.
type Server struct {
	url    string
	server *http.Server

	mu      sync.Mutex
	sealed  bool              // GUARDED_BY(mu)
	secrets map[string]string // GUARDED_BY(mu): values by domain/project/name
}

// New starts an open Vault on a free port of this machine.
func New(secrets map[string]string) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // binding does not wait
	if err != nil {
		return nil, fmt.Errorf("vault: %w", err)
	}
	s := &Server{url: "http://" + listener.Addr().String(), secrets: secrets}
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go s.server.Serve(listener) //nolint:errcheck // until Close
	return s, nil
}

// URL is its address.
func (s *Server) URL() string { return s.url }

// Close ends it.
func (s *Server) Close() { _ = s.server.Close() }

// Seal seals it or opens it again.
func (s *Server) Seal(sealed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = sealed
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path, value := strings.TrimPrefix(r.URL.Path, "/v1/"), ""
	name, isData := strings.CutPrefix(path, Mount+"/data/"+Prefix+"/")
	known := false
	if isData {
		value, known = s.secrets[name]
	}
	switch {
	case s.sealed:
		reply(w, http.StatusServiceUnavailable, map[string]any{"errors": []string{"Vault is sealed"}})
	case r.Header.Get("X-Vault-Token") != Token:
		reply(w, http.StatusForbidden, map[string]any{"errors": []string{"permission denied"}})
	case r.Method == http.MethodGet && path == "auth/token/lookup-self":
		reply(w, http.StatusOK, map[string]any{"data": map[string]any{"ttl": 0, "renewable": false}})
	case r.Method == http.MethodGet && known:
		about := map[string]any{"version": 1, "created_time": "2026-01-02T03:04:05Z", "deletion_time": "", "destroyed": false}
		reply(w, http.StatusOK, map[string]any{"data": map[string]any{"data": map[string]string{"value": value}, "metadata": about}})
	default:
		reply(w, http.StatusNotFound, map[string]any{"errors": []string{}})
	}
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // its reader may be gone
}
