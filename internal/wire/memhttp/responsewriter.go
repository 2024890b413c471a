package memhttp

import (
	"io"
	"maps"
	"net/http"
	"strings"
)

// responseWriter turns what a handler writes into a response of the in-memory transport.
type responseWriter struct {
	header   http.Header
	body     *buffer
	response *http.Response
	failure  error         // why there is no response; set before ready is closed
	ready    chan struct{} // closed when response or failure is there
	wrote    bool
}

var _ interface {
	http.ResponseWriter
	http.Flusher
} = (*responseWriter)(nil)

func newResponseWriter(request *http.Request) *responseWriter {
	return &responseWriter{
		header: http.Header{},
		body:   newBuffer(),
		ready:  make(chan struct{}),
		response: &http.Response{
			Proto: "HTTP/2.0", ProtoMajor: 2, Request: request, Trailer: http.Header{}, ContentLength: -1,
		},
	}
}

// serve runs the handler to its end. A panic fails the call only.
func (w *responseWriter) serve(handler http.Handler, request *http.Request) {
	defer func() {
		value := recover()
		if value == nil {
			return
		}
		if !w.wrote {
			w.wrote, w.failure = true, panicError(value)
			close(w.ready)
		}
		w.body.finish(panicError(value))
	}()
	handler.ServeHTTP(w, request)
	w.WriteHeader(http.StatusOK)
	w.trailers()
	w.body.finish(io.EOF)
}

// Header implements http.ResponseWriter.
func (w *responseWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *responseWriter) WriteHeader(code int) {
	if w.wrote || code < 200 {
		return
	}
	w.wrote = true
	w.response.StatusCode = code
	w.response.Status = http.StatusText(code)
	w.response.Header = w.header.Clone()
	// Announced trailers are not headers.
	for _, name := range announced(w.header) {
		delete(w.response.Header, name)
	}
	maps.DeleteFunc(w.response.Header, func(name string, _ []string) bool {
		return strings.HasPrefix(name, http.TrailerPrefix)
	})
	delete(w.response.Header, "Trailer")
	close(w.ready)
}

// Write implements http.ResponseWriter.
func (w *responseWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// Flush implements http.Flusher: bytes are already sent, headers not always.
func (w *responseWriter) Flush() { w.WriteHeader(http.StatusOK) }

// trailers fills the response's trailers. The reader looks at them after the end of the body, which comes later.
func (w *responseWriter) trailers() {
	for name, values := range w.header {
		if rest, ok := strings.CutPrefix(name, http.TrailerPrefix); ok {
			w.response.Trailer[http.CanonicalHeaderKey(rest)] = values
		}
	}
	for _, name := range announced(w.header) {
		if values, ok := w.header[name]; ok {
			w.response.Trailer[name] = values
		}
	}
}

// announced lists the keys that the handler named in its Trailer headers.
func announced(header http.Header) []string {
	var names []string
	for _, line := range header.Values("Trailer") {
		for name := range strings.SplitSeq(line, ",") {
			names = append(names, http.CanonicalHeaderKey(strings.TrimSpace(name)))
		}
	}
	return names
}
