package manager

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"

	"github.com/flyte-binary/flyte-binary/console"
	"github.com/flyte-binary/flyte-binary/internal/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
)

// routes is everything that the port serves.
type routes struct {
	api     *rpc.Mux
	files   http.Handler // signed URLs of a directory; nil for object stores
	console http.Handler
	ready   http.Handler
	metrics http.Handler
}

func (r routes) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "ok\n") // a probe that has gone needs no answer
	})
	mux.Handle("GET /readyz", r.ready)
	mux.Handle("GET /metrics", r.metrics)
	if r.files != nil {
		mux.Handle(blobstore.BlobsPath, r.files) // the digest of an upload is that of its bytes as sent
	}
	mux.Handle("GET /{$}", http.RedirectHandler(console.Base, http.StatusFound))
	mux.Handle("GET "+console.Base, r.console)
	plain := gunzip(r.api)
	mux.HandleFunc("/", func(w http.ResponseWriter, request *http.Request) {
		if isProcedure(request.URL.Path) {
			r.api.ServeHTTP(w, request)
			return
		}
		plain.ServeHTTP(w, request)
	})
	return mux
}

// isProcedure tells /package.Service/Method from the plain routes that services have.
func isProcedure(path string) bool {
	service, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return strings.Contains(service, ".") && !strings.HasPrefix(service, ".")
}

// gunzip lets plain routes take compressed bodies, as procedures do by themselves.
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
