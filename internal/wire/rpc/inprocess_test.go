package rpc_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type text = wrapperspb.StringValue

// client makes a client of one procedure over the in-memory transport.
func client(h http.Handler) *connect.Client[text, text] {
	return connect.NewClient[text, text](rpc.InProcess(h), rpc.InProcessURL+"/test.Service/Call")
}

// Story R34: services of one process called each other over HTTP without a timeout.
func TestInProcess(t *testing.T) {
	t.Run("unary with headers and trailers", func(t *testing.T) {
		h := connect.NewUnaryHandler("/test.Service/Call",
			func(_ context.Context, r *connect.Request[text]) (*connect.Response[text], error) {
				response := connect.NewResponse(&text{Value: r.Msg.GetValue() + r.Header().Get("X-In")})
				response.Header().Set("X-Out", "header")
				response.Trailer().Set("X-Tail", "trailer")
				return response, nil
			})
		request := connect.NewRequest(&text{Value: "a"})
		request.Header().Set("X-In", "b")
		response, err := client(h).CallUnary(t.Context(), request)
		require.NoError(t, err)
		require.Equal(t, "ab", response.Msg.GetValue())
		require.Equal(t, "header", response.Header().Get("X-Out"))
		require.Equal(t, "trailer", response.Trailer().Get("X-Tail"))
	})

	t.Run("gRPC, whose status is a trailer", func(t *testing.T) {
		h := connect.NewUnaryHandlerSimple("/test.Service/Call",
			func(context.Context, *text) (*text, error) {
				return nil, connect.NewError(connect.CodeAborted, errors.New("lost"))
			})
		c := connect.NewClient[text, text](rpc.InProcess(h), rpc.InProcessURL+"/test.Service/Call", connect.WithGRPC())
		_, err := c.CallUnary(t.Context(), connect.NewRequest(&text{}))
		require.Equal(t, connect.CodeAborted, connect.CodeOf(err))
	})

	t.Run("large message", func(t *testing.T) {
		h := connect.NewUnaryHandlerSimple("/test.Service/Call",
			func(_ context.Context, m *text) (*text, error) { return m, nil })
		large := strings.Repeat("flyte", 2<<20)
		response, err := client(h).CallUnary(t.Context(), connect.NewRequest(&text{Value: large}))
		require.NoError(t, err)
		require.Equal(t, large, response.Msg.GetValue())
	})

	t.Run("server stream arrives message by message", func(t *testing.T) {
		proceed := make(chan struct{})
		h := connect.NewServerStreamHandlerSimple("/test.Service/Call",
			func(_ context.Context, _ *text, s *connect.ServerStream[text]) error {
				for _, value := range []string{"1", "2"} {
					if err := s.Send(&text{Value: value}); err != nil {
						return err
					}
					<-proceed
				}
				return nil
			})
		stream, err := client(h).CallServerStream(t.Context(), connect.NewRequest(&text{}))
		require.NoError(t, err)
		for _, value := range []string{"1", "2"} {
			require.True(t, stream.Receive())
			require.Equal(t, value, stream.Msg().GetValue())
			proceed <- struct{}{}
		}
		require.False(t, stream.Receive())
		require.NoError(t, stream.Err())
		require.NoError(t, stream.Close())
	})

	t.Run("bidi stream", func(t *testing.T) {
		stream := client(echoStream()).CallBidiStream(t.Context())
		for _, value := range []string{"1", "2", "3"} {
			require.NoError(t, stream.Send(&text{Value: value}))
			got, err := stream.Receive()
			require.NoError(t, err)
			require.Equal(t, value, got.GetValue())
		}
		require.NoError(t, stream.CloseRequest())
		_, err := stream.Receive()
		require.ErrorIs(t, err, io.EOF)
		require.NoError(t, stream.CloseResponse())
	})

	t.Run("bidi stream whose client sends all before it receives", func(t *testing.T) {
		stream := client(echoStream()).CallBidiStream(t.Context())
		for range 100 {
			require.NoError(t, stream.Send(&text{Value: "x"}))
		}
		require.NoError(t, stream.CloseRequest())
		for range 100 {
			_, err := stream.Receive()
			require.NoError(t, err)
		}
		require.NoError(t, stream.CloseResponse())
	})

	t.Run("handler that ends early ends the client's sending", func(t *testing.T) {
		h := connect.NewBidiStreamHandler("/test.Service/Call",
			func(context.Context, *connect.BidiStream[text, text]) error {
				return connect.NewError(connect.CodeResourceExhausted, errors.New("enough"))
			})
		stream := client(h).CallBidiStream(t.Context())
		var err error
		for err == nil {
			err = stream.Send(&text{Value: "x"})
		}
		require.ErrorIs(t, err, io.EOF)
		_, err = stream.Receive()
		require.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(err))
		require.NoError(t, stream.CloseResponse())
	})
}

// Story R34: services of one process called each other over HTTP without a timeout.
func TestInProcessEnd(t *testing.T) {
	t.Run("the client's cancel ends the handler", func(t *testing.T) {
		ended := make(chan error, 1)
		h := connect.NewServerStreamHandlerSimple("/test.Service/Call",
			func(ctx context.Context, _ *text, s *connect.ServerStream[text]) error {
				if err := s.Send(&text{}); err != nil {
					return err
				}
				<-ctx.Done()
				ended <- ctx.Err()
				return ctx.Err()
			})
		ctx, cancel := context.WithCancel(t.Context())
		stream, err := client(h).CallServerStream(ctx, connect.NewRequest(&text{}))
		require.NoError(t, err)
		require.True(t, stream.Receive())
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
		require.False(t, stream.Receive())
		require.Equal(t, connect.CodeCanceled, connect.CodeOf(stream.Err()))
		require.NoError(t, stream.Close())
	})

	t.Run("cancel frees a handler that waits for a message", func(t *testing.T) {
		ended := make(chan struct{})
		h := connect.NewBidiStreamHandler("/test.Service/Call",
			func(_ context.Context, s *connect.BidiStream[text, text]) error {
				defer close(ended)
				_, err := s.Receive()
				return err
			})
		ctx, cancel := context.WithCancel(t.Context())
		stream := client(h).CallBidiStream(ctx)
		require.NoError(t, stream.Send(nil))
		cancel()
		<-ended
	})

	t.Run("cancel frees a handler whose output nobody reads", func(t *testing.T) {
		ended := make(chan struct{})
		h := connect.NewServerStreamHandlerSimple("/test.Service/Call",
			func(_ context.Context, _ *text, s *connect.ServerStream[text]) error {
				defer close(ended)
				for {
					if err := s.Send(&text{Value: strings.Repeat("x", 1<<16)}); err != nil {
						return err
					}
				}
			})
		ctx, cancel := context.WithCancel(t.Context())
		_, err := client(h).CallServerStream(ctx, connect.NewRequest(&text{}))
		require.NoError(t, err)
		cancel()
		<-ended
	})

	t.Run("closing the stream ends the handler", func(t *testing.T) {
		ended := make(chan struct{})
		h := connect.NewServerStreamHandlerSimple("/test.Service/Call",
			func(ctx context.Context, _ *text, s *connect.ServerStream[text]) error {
				defer close(ended)
				if err := s.Send(&text{}); err != nil {
					return err
				}
				<-ctx.Done()
				return nil
			})
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, rpc.InProcessURL+"/test.Service/Call",
			bytes.NewReader([]byte{0, 0, 0, 0, 0}))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/connect+proto")
		response, err := rpc.InProcess(h).Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		<-ended
	})

	t.Run("panic outside the chain", func(t *testing.T) {
		h := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("oops") })
		_, err := client(h).CallUnary(t.Context(), connect.NewRequest(&text{}))
		require.ErrorContains(t, err, "oops")
		require.NotEqual(t, connect.CodeUnknown, connect.CodeOf(err))
	})

	t.Run("context values of the caller do not cross", func(t *testing.T) {
		type key struct{}
		h := connect.NewUnaryHandlerSimple("/test.Service/Call",
			func(ctx context.Context, _ *text) (*text, error) {
				if ctx.Value(key{}) != nil {
					return nil, errors.New("value crossed")
				}
				return &text{Value: authz.IdentityFrom(ctx).Subject}, nil
			})
		ctx := context.WithValue(t.Context(), key{}, 1)
		ctx = authz.WithIdentity(ctx, authz.Identity{Kind: authz.User, Subject: "ada"})
		response, err := client(h).CallUnary(ctx, connect.NewRequest(&text{}))
		require.NoError(t, err)
		require.Equal(t, "ada", response.Msg.GetValue())
	})
}

func BenchmarkInProcess(b *testing.B) {
	c := client(connect.NewUnaryHandlerSimple("/test.Service/Call", func(_ context.Context, m *text) (*text, error) { return m, nil }))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.CallUnary(b.Context(), connect.NewRequest(&text{Value: "a"})); err != nil {
			b.Fatal(err)
		}
	}
}

func echoStream() http.Handler {
	return connect.NewBidiStreamHandler("/test.Service/Call",
		func(_ context.Context, s *connect.BidiStream[text, text]) error {
			for {
				message, err := s.Receive()
				if errors.Is(err, io.EOF) {
					return nil
				}
				if err != nil {
					return err
				}
				if err := s.Send(message); err != nil {
					return err
				}
			}
		})
}

// TestOnBehalf: a call for another request arrives as that request did, and is trusted no more than it.
func TestOnBehalf(t *testing.T) {
	of := httptest.NewRequest(http.MethodPost, "https://flyte.example/mcp", nil)
	of.RemoteAddr, of.TLS = "192.0.2.7:1234", &tls.ConnectionState{ServerName: "flyte.example"}
	for name, value := range map[string]string{
		"Authorization": "Bearer x", "X-Request-Id": "7", "Cookie": "session=y", "Content-Type": "text/html", "Accept": "text/html", "Content-Length": "9",
	} {
		of.Header.Set(name, value)
	}
	var seen *http.Request
	handler := connect.NewUnaryHandlerSimple("/test.Service/Call", func(ctx context.Context, m *text) (*text, error) {
		_, known := authz.IdentityIn(ctx)
		require.False(t, known, "the identity of the context in which the call is made does not cross")
		return m, nil
	})
	served := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r
		handler.ServeHTTP(w, r)
	})
	client := connect.NewClient[text, text](rpc.OnBehalf(served, of), rpc.InProcessURL+"/test.Service/Call")
	ctx := authz.WithIdentity(t.Context(), authz.Identity{Kind: authz.User, Subject: "someone else"})
	response, err := client.CallUnary(ctx, connect.NewRequest(&text{Value: "a"}))
	require.NoError(t, err)
	require.Equal(t, "a", response.Msg.GetValue())
	require.Equal(t, "192.0.2.7:1234", seen.RemoteAddr)
	require.Equal(t, "flyte.example", seen.TLS.ServerName)
	require.Equal(t, "flyte.example", seen.Host)
	require.Equal(t, "Bearer x", seen.Header.Get("Authorization"))
	require.Equal(t, "7", seen.Header.Get("X-Request-Id"))
	require.Empty(t, seen.Header.Get("Cookie"))
	require.Equal(t, "application/proto", seen.Header.Get("Content-Type"))
	require.False(t, rpc.IsInProcess(seen.Context()), "it passes the whole chain")
}
