package port

import (
	"compress/gzip"
	"crypto/rand"
	"io"
	"net/http"
	"strings"

	"github.com/flyte-binary/flyte-binary/access/signin"
	"github.com/flyte-binary/flyte-binary/console"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// Routes is everything that the port serves. All of it is mounted on api, which puts each route behind its rule.
type Routes struct {
	API     *rpc.Mux
	Files   http.Handler // signed URLs of a directory; nil for object stores
	Console http.Handler // nil in a process without the API
	Alive   func() error // why a restart would help
	Ready   http.Handler
	Metrics http.Handler
	Level   http.Handler
}

// Mount mounts the plain routes and returns the handler of the port.
func (r Routes) Mount() http.Handler {
	r.API.Handle("GET /healthz", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		answer := "ok"
		if err := r.Alive(); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			answer = err.Error()
		}
		_, _ = io.WriteString(w, answer+"\n") // the probe may have disconnected
	}))
	r.API.Handle("GET /readyz", r.Ready)
	r.API.Handle("GET /metrics", r.Metrics)
	r.API.Handle("GET "+LogLevelPath, r.Level)
	r.API.Handle("PUT "+LogLevelPath, r.Level)
	if r.Files != nil {
		r.API.Handle(blobstore.BlobsPath, r.Files)
	}
	if r.Console != nil {
		r.API.Handle("GET /{$}", http.RedirectHandler(console.Base, http.StatusFound))
		r.API.Handle("GET "+console.Base, r.Console)
	}
	plain := gunzip(r.API)
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		named(w, request)
		// Procedures decompress bodies themselves; the digest of an upload is that of its bytes as sent.
		if isProcedure(request.URL.Path) || strings.HasPrefix(request.URL.Path, blobstore.BlobsPath) {
			r.API.ServeHTTP(w, request)
			return
		}
		plain.ServeHTTP(w, request)
	})
}

// requestID names a request in the answer, in the log and in the record of what was done. Clients may choose it.
const requestID = "X-Request-Id"

// named gives a call without an id one, and tells the client. Requests to apps and files are the business of others.
func named(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get(requestID) != "" || !isProcedure(r.URL.Path) && !strings.HasPrefix(r.URL.Path, signin.Path) {
		return
	}
	id := rand.Text()
	r.Header.Set(requestID, id)
	w.Header().Set(requestID, id)
}

// isProcedure reports whether a path is /package.Service/Method, not a plain route of a service.
func isProcedure(path string) bool {
	service, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return strings.Contains(service, ".") && !strings.HasPrefix(service, ".")
}

// gunzip decompresses request bodies of plain routes. Procedures do so themselves.
func gunzip(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.EqualFold(r.Header.Get("Content-Encoding"), "gzip") {
			next.ServeHTTP(w, r)
			return
		}
		body, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, "the body is not gzip", http.StatusBadRequest)
			return
		}
		r = r.Clone(r.Context())
		r.Header.Del("Content-Encoding")
		r.Header.Del("Content-Length")
		r.ContentLength = -1
		r.Body = unzipped{Reader: body, closer: r.Body}
		next.ServeHTTP(w, r)
	})
}

type unzipped struct {
	io.Reader
	closer io.Closer
}

// Close implements io.Closer.
func (u unzipped) Close() error { return u.closer.Close() }
