package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/websocket"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
)

// protocols runs a test with clients of HTTP/1 and HTTP/2, and with replicas that get either.
func protocols(t *testing.T, handler http.HandlerFunc, test func(t *testing.T, client *http.Client, url string)) {
	t.Helper()
	backend := replica(t, handler)
	f := start(t, newApps(route("one", backend), changed(route("two", backend), func(r *enginev1.AppRoute) { r.H2C = true })), options{})
	for _, http2 := range []bool{false, true} {
		for app, to := range map[string]string{"one": "HTTP/1.1", "two": "HTTP/2.0"} {
			t.Run(fmt.Sprintf("HTTP/2 %t to %s", http2, to), func(t *testing.T) {
				test(t, &http.Client{Transport: transport(t, http2)}, f.url+"/apps/p/d/"+app+"/"+to)
			})
		}
	}
}

func TestBodiesStreamBothWays(t *testing.T) {
	protocols(t, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex()
		lines := bufio.NewReader(r.Body)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			fmt.Fprintf(w, "%s %s", r.Proto, line)
			_ = http.NewResponseController(w).Flush()
		}
	}, func(t *testing.T, client *http.Client, url string) {
		body, upload := io.Pipe()
		go func() { fmt.Fprintln(upload, "line 0") }()
		response, err := client.Post(url, "text/plain", body)
		require.NoError(t, err)
		defer response.Body.Close()
		lines := bufio.NewReader(response.Body)
		proto := url[len(url)-8:]
		for i := range 5 { // each only after the answer to the one before
			line, err := lines.ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintf("%s line %d\n", proto, i), line)
			fmt.Fprintf(upload, "line %d\n", i+1)
		}
		require.NoError(t, upload.Close())
	})
}

func TestLargeBodies(t *testing.T) {
	protocols(t, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex()
		hash := sha256.New()
		_, err := io.Copy(io.MultiWriter(hash, w), r.Body)
		w.Header().Set(http.TrailerPrefix+"Digest", fmt.Sprintf("%x %v", hash.Sum(nil), err))
		w.Header().Set(http.TrailerPrefix+"Asked", r.Trailer.Get("Question"))
	}, func(t *testing.T, client *http.Client, url string) {
		content := bytes.Repeat([]byte("0123456789abcdef"), 1<<19) // 8 MiB
		request, err := http.NewRequest(http.MethodPut, url, struct{ io.Reader }{bytes.NewReader(content)})
		require.NoError(t, err)
		request.Trailer = http.Header{"Question": {"trailers?"}, "X-Flyte-Subject": {"eve"}}
		response, err := client.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		got, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.True(t, bytes.Equal(content, got), "%d bytes", len(got))
		require.Equal(t, fmt.Sprintf("%x <nil>", sha256.Sum256(content)), response.Trailer.Get("Digest"))
		require.Equal(t, "trailers?", response.Trailer.Get("Asked"))
	})
}

func TestServerSentEvents(t *testing.T) {
	next, ended := make(chan string), make(chan struct{})
	protocols(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		for {
			select {
			case event := <-next:
				fmt.Fprintf(w, "data: %s\n\n", event)
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				ended <- struct{}{}
				return
			}
		}
	}, func(t *testing.T, client *http.Client, url string) {
		response, err := client.Get(url) // the header comes before the first event
		require.NoError(t, err)
		defer func() {
			response.Body.Close()
			<-ended // or it would take the next one's events
		}()
		lines := bufio.NewScanner(response.Body)
		for _, event := range []string{"one", "two"} {
			next <- event
			require.True(t, lines.Scan())
			require.Equal(t, "data: "+event, lines.Text())
			require.True(t, lines.Scan())
		}
	})
}

func TestTheEndOfAClientIsPassedOn(t *testing.T) {
	entered, ended := make(chan struct{}), make(chan struct{})
	protocols(t, func(_ http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		<-r.Context().Done()
		ended <- struct{}{}
	}, func(t *testing.T, client *http.Client, url string) {
		ctx, cancel := context.WithCancel(t.Context())
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		require.NoError(t, err)
		failed := make(chan error)
		go func() {
			response, err := client.Do(request)
			if err == nil {
				response.Body.Close()
			}
			failed <- err
		}()
		<-entered
		cancel()
		<-ended
		require.ErrorIs(t, <-failed, context.Canceled)
	})
}

func TestAnAnswerThatBreaksOffIsNotWhole(t *testing.T) {
	protocols(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", 100_000))
		panic(http.ErrAbortHandler)
	}, func(t *testing.T, client *http.Client, url string) {
		response, err := client.Get(url)
		if err != nil {
			return // the break came before the header
		}
		defer response.Body.Close()
		_, err = io.Copy(io.Discard, response.Body)
		require.Error(t, err)
	})
}

func TestEarlyHints(t *testing.T) {
	f := start(t, newApps(route("one", replica(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusTeapot)
	}))), options{})
	status, _, _ := f.get(t, "/apps/p/d/one/", nil)
	require.Equal(t, http.StatusTeapot, status)
}

// upper is a gRPC service with a call and a stream.
func upper() *grpc.ServiceDesc {
	return &grpc.ServiceDesc{
		ServiceName: "test.Upper", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Once", Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			in := &wrapperspb.StringValue{}
			if err := decode(in); err != nil {
				return nil, err
			}
			_ = grpc.SetTrailer(ctx, metadata.Pairs("tail", "end"))
			if in.GetValue() == "" {
				return nil, status.Error(codes.FailedPrecondition, "nothing to say: ü")
			}
			return wrapperspb.String(strings.ToUpper(in.GetValue())), nil
		}}},
		Streams: []grpc.StreamDesc{{StreamName: "Each", ServerStreams: true, ClientStreams: true, Handler: func(_ any, stream grpc.ServerStream) error {
			for {
				in := &wrapperspb.StringValue{}
				if err := stream.RecvMsg(in); err != nil {
					return nil //nolint:nilerr // the client is done
				}
				if err := stream.SendMsg(wrapperspb.String(strings.ToUpper(in.GetValue()))); err != nil {
					return err
				}
			}
		}}},
	}
}

func TestGRPC(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	server.RegisterService(upper(), nil)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	declared := changed(route("declared", listener.Addr().String()), func(r *enginev1.AppRoute) { r.H2C = true })
	stopped := changed(route("stopped"), func(r *enginev1.AppRoute) { r.Reason = "it was stopped" })
	f := start(t, newApps(declared, route("plain", listener.Addr().String()), stopped), options{grace: 100 * time.Millisecond})
	dial := func(t *testing.T, app string) *grpc.ClientConn {
		t.Helper()
		conn, err := grpc.NewClient(f.host, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority(app+"-0a1b2c3d.localhost"))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, conn.Close()) })
		return conn
	}
	for _, app := range []string{"declared", "plain"} {
		t.Run(app, func(t *testing.T) {
			conn := dial(t, app)
			var tail metadata.MD
			out := &wrapperspb.StringValue{}
			require.NoError(t, conn.Invoke(t.Context(), "/test.Upper/Once", wrapperspb.String("hello"), out, grpc.Trailer(&tail)))
			require.Equal(t, "HELLO", out.GetValue())
			require.Equal(t, []string{"end"}, tail.Get("tail"))
			err := conn.Invoke(t.Context(), "/test.Upper/Once", wrapperspb.String(""), out)
			require.Equal(t, codes.FailedPrecondition, status.Code(err))
			require.ErrorContains(t, err, "nothing to say: ü")

			stream, err := conn.NewStream(t.Context(), &upper().Streams[0], "/test.Upper/Each")
			require.NoError(t, err)
			for _, word := range []string{"a", "b", "c"} {
				<-time.After(150 * time.Millisecond) // longer than bodies of other requests may be silent
				require.NoError(t, stream.SendMsg(wrapperspb.String(word)))
				require.NoError(t, stream.RecvMsg(out))
				require.Equal(t, strings.ToUpper(word), out.GetValue())
			}
			require.NoError(t, stream.CloseSend())
			require.ErrorIs(t, stream.RecvMsg(out), io.EOF)
		})
	}
	err = dial(t, "stopped").Invoke(t.Context(), "/test.Upper/Once", wrapperspb.String("x"), &wrapperspb.StringValue{})
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.ErrorContains(t, err, "it was stopped")
	err = dial(t, "unknown").Invoke(t.Context(), "/test.Upper/Once", wrapperspb.String("x"), &wrapperspb.StringValue{})
	require.Equal(t, codes.NotFound, status.Code(err))
}

// open opens a WebSocket to an app.
func open(t testing.TB, f *fixture, path, host string) *websocket.Conn {
	t.Helper()
	config, err := websocket.NewConfig("ws://"+host+path, "http://"+host)
	require.NoError(t, err)
	conn, err := net.Dial("tcp", f.host)
	require.NoError(t, err)
	ws, err := websocket.NewClient(config, conn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = ws.Close() }) // the other side may have done so
	return ws
}

// echo is a replica that sends back what it gets over WebSockets.
func echo(t testing.TB) string {
	t.Helper()
	return replica(t, websocket.Server{Handler: func(ws *websocket.Conn) {
		var message string
		for websocket.Message.Receive(ws, &message) == nil && websocket.Message.Send(ws, message) == nil {
		}
	}}.ServeHTTP)
}

func TestWebSockets(t *testing.T) {
	backend := echo(t)
	f := start(t, newApps(
		changed(route("one", backend), func(r *enginev1.AppRoute) { r.RequestTimeout = durationpb.New(50 * time.Millisecond) }),
		changed(route("two", backend), func(r *enginev1.AppRoute) { r.H2C = true }),
	), options{})
	large := strings.Repeat("large", 100_000)
	for path, host := range map[string]string{"/apps/p/d/one/ws": f.host, "/": "one-0a1b2c3d.localhost", "/apps/p/d/two/": f.host} {
		ws := open(t, f, path, host)
		for _, text := range []string{"hello", large, "again"} {
			require.NoError(t, websocket.Message.Send(ws, text))
			var got string
			require.NoError(t, websocket.Message.Receive(ws, &got))
			require.Equal(t, text, got)
			<-time.After(100 * time.Millisecond) // longer than other requests may be silent
		}
	}
	// When the process stops, they end, so that clients connect elsewhere.
	ws := open(t, f, "/apps/p/d/one/ws", f.host)
	require.NoError(t, websocket.Message.Send(ws, "x"))
	f.stop()
	_, _ = io.Copy(io.Discard, ws) // it returns
}
