package rpc_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// BenchmarkGates measures what the gate and the intake add to a unary call: the difference between a handler alone and
// the same handler behind them. The requests have the size of a child's and of large inputs.
func BenchmarkGates(b *testing.B) {
	alone := http.NewServeMux()
	alone.Handle(workflowconnect.NewRunServiceHandler(counting{}))
	gates, err := rpc.Gates(rpc.Chain{})
	require.NoError(b, err)
	behind := http.NewServeMux()
	path, handler := workflowconnect.NewRunServiceHandler(counting{}, gates.Option())
	behind.Handle(path, gates.Before("flyteidl2.workflow.RunService", handler))
	for size, literals := range map[string]int{"20 literals": 20, "2000 literals": 2000} {
		body, err := proto.Marshal(runWith(literals))
		require.NoError(b, err)
		packed := zipped(b, body)
		for name, h := range map[string]http.Handler{"alone": alone, "behind the gates": behind} {
			b.Run(size+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					r := httptest.NewRequest(http.MethodPost, large, bytes.NewReader(packed))
					r.Header.Set("Content-Type", "application/proto")
					r.Header.Set("Content-Encoding", "gzip")
					w := httptest.NewRecorder()
					h.ServeHTTP(w, r)
					if w.Code != http.StatusOK {
						b.Fatal(w.Body)
					}
				}
			})
		}
	}
	b.Run("refused", func(b *testing.B) {
		m := guarded(b, rpc.Chain{}, counting{})
		packed := bombs(b)[false]
		b.ReportAllocs()
		for b.Loop() {
			r := httptest.NewRequest(http.MethodPost, internal, bytes.NewReader(packed))
			r.Header.Set("Content-Type", "application/proto")
			r.Header.Set("Content-Encoding", "gzip")
			w := httptest.NewRecorder()
			m.ServeHTTP(w, r)
			if w.Code != http.StatusForbidden {
				b.Fatal(connect.CodeUnknown, w.Body)
			}
		}
	})
}
