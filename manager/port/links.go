package port

import (
	"fmt"
	"io"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// CountLinks counts the uses of signed addresses, by method and result. The record of what was done has who got an address; it has no room for
// each use.
func CountLinks(files http.Handler, provider metric.MeterProvider) (http.Handler, error) {
	const name = "flyte.links.uses"
	uses, err := provider.Meter("github.com/flyte-binary/flyte-binary/manager").Int64Counter(name,
		metric.WithDescription("requests to signed addresses of the file store, by method and result: served, refused or failed"))
	if err != nil {
		return nil, fmt.Errorf("make metric %s: %w", name, err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		defer func() {
			uses.Add(r.Context(), 1, metric.WithAttributes(attribute.String("method", methodOf(r)), attribute.String("result", seen.result())))
		}()
		files.ServeHTTP(seen, r)
	}), nil
}

// methodOf is a method of which there are few.
func methodOf(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		return "read"
	case http.MethodPut:
		return "write"
	default:
		return "other"
	}
}

// statusWriter keeps the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// ReadFrom implements io.ReaderFrom: files are sent without a copy in the process.
func (w *statusWriter) ReadFrom(from io.Reader) (int64, error) {
	return io.Copy(w.ResponseWriter, from) //nolint:wrapcheck // of the file or the connection, as without this
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *statusWriter) result() string {
	switch {
	case w.status >= http.StatusInternalServerError:
		return "failed"
	case w.status >= http.StatusBadRequest:
		return "refused"
	default:
		return "served"
	}
}
