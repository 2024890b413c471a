package rpc_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

type nobody struct{}

func (nobody) Authenticate(context.Context, authz.Request) (authz.Identity, error) {
	return authz.Identity{}, rpc.Unauthenticated("the credential is invalid")
}

func TestNothingIsDecodedForThoseWhoAreRefused(t *testing.T) {
	const most = 2 << 20
	bombs := bombs(t)
	refused := func(t *testing.T, h http.Handler, path string, streams bool, code connect.Code) {
		for _, w := range wires(streams) {
			t.Run(w.name, func(t *testing.T) {
				cost(h, w.request(path, bombs[w.json()])) // what is made once
				bytes, answer := cost(h, w.request(path, bombs[w.json()]))
				requireCode(t, answer, code)
				require.Less(t, bytes, uint64(most))
			})
		}
	}
	open := guarded(t, rpc.Chain{}, counting{})
	t.Run("internal", func(t *testing.T) { refused(t, open, internal, false, connect.CodePermissionDenied) })
	t.Run("internal stream", func(t *testing.T) { refused(t, open, stream, true, connect.CodePermissionDenied) })
	closed := guarded(t, rpc.Chain{Authenticator: nobody{}}, counting{})
	t.Run("unary", func(t *testing.T) { refused(t, closed, large, false, connect.CodeUnauthenticated) })
	t.Run("watch", func(t *testing.T) { refused(t, closed, watch, true, connect.CodeUnauthenticated) })
}

// TestMessagesCostNoMoreThanTheLimit sends the same bombs as a caller who may call.
func TestMessagesCostNoMoreThanTheLimit(t *testing.T) {
	h := guarded(t, rpc.Chain{}, counting{})
	bombs := bombs(t)
	for path, c := range map[string]struct {
		streams bool
		most    uint64 // the limit, and the buffers into which it grows
	}{
		small: {false, 5 << 20}, watch: {true, 5 << 20},
		large: {false, 160 << 20}, internal: {false, 160 << 20}, stream: {true, 160 << 20},
	} {
		t.Run(path, func(t *testing.T) {
			for _, w := range wires(c.streams) {
				t.Run(w.name, func(t *testing.T) {
					request := w.request(path, bombs[w.json()])
					request.Header.Set(rpc.InternalTokenHeader, internalToken)
					bytes, answer := cost(h, request)
					requireCode(t, answer, connect.CodeResourceExhausted)
					require.Less(t, bytes, c.most)
				})
			}
		})
	}
}

func TestLimitOfAMessage(t *testing.T) {
	h := guarded(t, rpc.Chain{Limits: rpc.Limits{MessageBytes: 2 << 20}}, counting{})
	for name, c := range map[string]struct {
		path  string
		bytes int
		want  string
	}{
		"small":           {small, 1<<20 - 100, ""},
		"too large":       {small, 1 << 20, "takes at most 1048576 bytes"},
		"large":           {large, 2<<20 - 100, ""},
		"large, too":      {large, 2 << 20, "takes at most 2097152 bytes"},
		"large, absurdly": {large, 8 << 20, "takes at most 2097152 bytes"},
	} {
		for _, length := range []string{"declared", "not declared", "compressed"} {
			t.Run(name+", "+length, func(t *testing.T) {
				id := &common.RunIdentifier{Org: strings.Repeat("x", c.bytes), Project: "p", Domain: "d", Name: "r"}
				var message proto.Message = &workflow.GetRunDetailsRequest{RunId: id}
				if c.path == large {
					message = &workflow.CreateRunRequest{Id: &workflow.CreateRunRequest_RunId{RunId: id}}
				}
				body, err := proto.Marshal(message)
				require.NoError(t, err)
				r := httptest.NewRequest(http.MethodPost, c.path, bytes.NewReader(body))
				r.Header.Set("Content-Type", "application/proto")
				switch length {
				case "not declared":
					r.ContentLength = -1
				case "compressed":
					r = wires(false)[4].request(c.path, zipped(t, body))
				}
				_, answer := cost(h, r)
				require.NotContains(t, answer, `"unknown"`)
				if c.want == "" {
					require.NotContains(t, answer, "resource_exhausted")
					return
				}
				requireCode(t, answer, connect.CodeResourceExhausted)
				require.Contains(t, answer, c.want)
				require.Contains(t, answer, "store large values as files")
			})
		}
	}
}

func TestMalformedMessagesAreInvalid(t *testing.T) {
	h := guarded(t, rpc.Chain{}, counting{})
	deep := bytes.Repeat([]byte(`{"inputs":{"literals":[{"value":{"scalar":{"generic":{"a":`+strings.Repeat("[", 5000)), 1)
	for name, c := range map[string]struct {
		content, encoding string
		body              []byte
	}{
		"corrupt gzip":            {"application/proto", "gzip", []byte("no gzip at all")},
		"gzip that ends early":    {"application/proto", "gzip", bombs(t)[false][:100]},
		"corrupt gzip in a frame": {"application/grpc", "gzip", framed(1, []byte("no gzip at all"))},
		"undeclared compression":  {"application/grpc", "", framed(1, zipped(t, []byte("\x0a\x00")))},
		"frame that ends early":   {"application/grpc", "", framed(0, make([]byte, 10))[:9]},
		"half a frame":            {"application/grpc-web+proto", "", []byte{0, 0}},
		"nested too deeply":       {"application/json", "", deep},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, large, bytes.NewReader(c.body))
			r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/2.0", 2, 0
			r.Header.Set("Content-Type", c.content)
			if c.encoding != "" {
				r.Header.Set(map[bool]string{true: "Grpc-Encoding", false: "Content-Encoding"}[strings.Contains(c.content, "grpc")], c.encoding)
			}
			_, answer := cost(h, r)
			requireCode(t, answer, connect.CodeInvalidArgument)
		})
	}
}
