package port_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/flyte-binary/flyte-binary/manager/port"
)

// TestUsesOfSignedAddressesAreCounted by what came of them; the body arrives whole.
func TestUsesOfSignedAddressesAreCounted(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	counted, err := port.CountLinks(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/blobs/forged":
			http.Error(w, "the signature is invalid", http.StatusForbidden)
		case "/blobs/broken":
			http.Error(w, "the object store failed", http.StatusInternalServerError)
		default:
			http.ServeContent(w, r, "", time.Time{}, strings.NewReader("content"))
		}
	}), sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	require.NoError(t, err)
	for _, ask := range []string{"GET /blobs/a", "HEAD /blobs/a", "PUT /blobs/forged", "GET /blobs/broken", "DELETE /blobs/forged"} {
		method, path, _ := strings.Cut(ask, " ")
		answer := httptest.NewRecorder()
		counted.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), method, path, nil))
		if ask == "GET /blobs/a" {
			require.Equal(t, "content", answer.Body.String())
		}
	}
	var all metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &all))
	got := map[string]int64{}
	for _, point := range all.ScopeMetrics[0].Metrics[0].Data.(metricdata.Sum[int64]).DataPoints {
		method, _ := point.Attributes.Value("method")
		result, _ := point.Attributes.Value("result")
		got[method.AsString()+" "+result.AsString()] = point.Value
	}
	require.Equal(t, "flyte.links.uses", all.ScopeMetrics[0].Metrics[0].Name)
	require.Equal(t, map[string]int64{"read served": 2, "write refused": 1, "read failed": 1, "other refused": 1}, got)
}
