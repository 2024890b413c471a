package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/websocket"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/inpod/forward"
)

// pod is a replica as it is on a cluster: a forwarder, and a program behind it that listens on 127.0.0.1 when the test says so.
type pod struct {
	t       *testing.T
	program string // its address
	address string // that of the replica
	probe   string
}

// private is an address on which nothing listens, and whose port no one gets by asking for any: those begin above.
func private(t testing.TB) string {
	t.Helper()
	for {
		address := "127.0.0.1:" + strconv.Itoa(10_000+rand.IntN(20_000))
		if listener, err := net.Listen("tcp", address); err == nil {
			require.NoError(t, listener.Close())
			return address
		}
	}
}

func newPod(t *testing.T) *pod {
	t.Helper()
	p := &pod{t: t, program: private(t), address: private(t), probe: private(t)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- forward.Forwarder{To: p.program}.Run(ctx, p.address, p.probe) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	return p
}

// serve starts the program. It ends with the test, or when the test calls stop, with all its connections.
func (p *pod) serve(handler http.Handler) (stop func()) {
	p.t.Helper()
	listener, err := net.Listen("tcp", p.program)
	require.NoError(p.t, err)
	server := &http.Server{Handler: handler, Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	stop = sync.OnceFunc(func() {
		require.NoError(p.t, server.Close())
		require.ErrorIs(p.t, <-done, http.ErrServerClosed)
	})
	p.t.Cleanup(stop)
	return stop
}

// ready is what a probe of the kubelet sees; 0 for no answer.
func (p *pod) ready() int {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get("http://" + p.probe + "/ready")
	if err != nil {
		return 0
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

func (p *pod) awaits(status int) {
	p.t.Helper()
	require.Eventually(p.t, func() bool { return p.ready() == status }, time.Minute, time.Millisecond)
}

// TestProtocolsPassTheForwarder: to a client, a program behind the forwarder is one without it.
func TestProtocolsPassTheForwarder(t *testing.T) {
	p := newPod(t)
	mux := http.NewServeMux()
	mux.HandleFunc("/lines", func(w http.ResponseWriter, r *http.Request) { // answers each line before it reads the next
		_ = http.NewResponseController(w).EnableFullDuplex()
		lines := bufio.NewReader(r.Body)
		for line, err := lines.ReadString('\n'); err == nil; line, err = lines.ReadString('\n') {
			fmt.Fprintf(w, "%s %s", r.Proto, line)
			_ = http.NewResponseController(w).Flush()
		}
	})
	mux.Handle("/ws", websocket.Server{Handler: func(ws *websocket.Conn) {
		var message string
		for websocket.Message.Receive(ws, &message) == nil && websocket.Message.Send(ws, message) == nil {
		}
	}})
	p.serve(mux)
	p.awaits(http.StatusNoContent)
	f := start(t, newApps(route("one", p.address), changed(route("two", p.address), func(r *enginev1.AppRoute) { r.H2C = true })), options{})
	for app, protocol := range map[string]string{"one": "HTTP/1.1", "two": "HTTP/2.0"} {
		t.Run(protocol, func(t *testing.T) {
			body, upload := io.Pipe()
			client := &http.Client{Transport: transport(t, true)}
			go func() { fmt.Fprintln(upload, "line 0") }()
			response, err := client.Post(f.url+"/apps/p/d/"+app+"/lines", "text/plain", body)
			require.NoError(t, err)
			defer response.Body.Close()
			lines := bufio.NewReader(response.Body)
			for i := range 3 {
				line, err := lines.ReadString('\n')
				require.NoError(t, err)
				require.Equal(t, fmt.Sprintf("%s line %d\n", protocol, i), line)
				fmt.Fprintf(upload, "line %d\n", i+1)
			}
			require.NoError(t, upload.Close())
		})
	}
	t.Run("WebSocket", func(t *testing.T) {
		ws, large := open(t, f, "/apps/p/d/one/ws", f.host), strings.Repeat("large", 100_000)
		for _, text := range []string{"hello", large, "again"} {
			require.NoError(t, websocket.Message.Send(ws, text))
			var got string
			require.NoError(t, websocket.Message.Receive(ws, &got))
			require.Equal(t, text, got)
		}
	})
}

// TestARequestWaitsForTheProgram: the forwarder runs before the program does. A request that wakes the app gets the program's
// answer, and not the end of a connection that no one has taken.
func TestARequestWaitsForTheProgram(t *testing.T) {
	p, woken := newPod(t), make(chan struct{})
	a := newApps(asleep("one"))
	a.onWake = func(string) error { close(woken); return nil }
	f := start(t, a, options{})
	answered := make(chan string, 20)
	for i := range cap(answered) {
		go func() {
			status, _, body := f.do(t, http.MethodPost, "/apps/p/d/one/", strings.NewReader(fmt.Sprint("request ", i)), nil)
			answered <- fmt.Sprint(status, " ", strings.TrimRight(body, "0123456789"))
		}()
	}
	<-woken
	p.awaits(http.StatusServiceUnavailable) // the forwarder runs
	a.set(changed(asleep("one"), func(r *enginev1.AppRoute) {
		r.Targets = []*enginev1.RouteTarget{{Replica: "r", Address: p.address}}
	}))
	f.settle(t)
	require.Eventually(t, func() bool { return f.service.Waiting() == cap(answered) }, time.Minute, time.Millisecond)
	p.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }))
	for range cap(answered) {
		require.Equal(t, "200 request ", <-answered)
	}
}

// TestAProgramBehindTheForwarderStartsAgain: at most the requests of one moment break; later ones wait for the program.
func TestAProgramBehindTheForwarderStartsAgain(t *testing.T) {
	p := newPod(t)
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	stop := p.serve(echo)
	p.awaits(http.StatusNoContent)
	f := start(t, newApps(route("one", p.address)), options{})
	post := func(text string) string {
		status, _, body := f.do(t, http.MethodPost, "/apps/p/d/one/", strings.NewReader(text), nil)
		return fmt.Sprint(status, " ", body)
	}
	require.Equal(t, "200 first", post("first"))
	stop()
	p.awaits(http.StatusServiceUnavailable)
	// The forwarder learns from a connection that the program is gone, and stops listening.
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", p.address)
		if err != nil {
			return true
		}
		_ = conn.Close()
		return false
	}, time.Minute, time.Millisecond)
	answered := make(chan string, 1)
	go func() { answered <- post("second") }()
	require.Eventually(t, func() bool { return f.service.Waiting() == 1 }, time.Minute, time.Millisecond)
	p.serve(echo)
	require.Equal(t, "200 second", <-answered)
}

// TestAnotherReplicaHasAProgramThatListens: the gateway does not send requests to a pod whose program is still starting.
func TestAnotherReplicaHasAProgramThatListens(t *testing.T) {
	starting, well := newPod(t), newPod(t)
	well.serve(says("well"))
	well.awaits(http.StatusNoContent)
	starting.awaits(http.StatusServiceUnavailable)
	f := start(t, newApps(route("one", starting.address, well.address)), options{})
	for range 20 {
		status, _, body := f.do(t, http.MethodPost, "/apps/p/d/one/", strings.NewReader("x"), nil)
		require.Equal(t, "200 well", fmt.Sprint(status, " ", body))
	}
}

// TestAStreamPassesTheForwarderWhileItIsSilent: neither side of the forwarder ends a connection on which nothing moves.
func TestAStreamPassesTheForwarderWhileItIsSilent(t *testing.T) {
	p, next := newPod(t), make(chan string)
	p.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		for {
			select {
			case event := <-next:
				fmt.Fprintf(w, "data: %s\n\n", event)
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}))
	p.awaits(http.StatusNoContent)
	f := start(t, newApps(route("one", p.address)), options{})
	response, err := (&http.Client{Transport: transport(t, false)}).Get(f.url + "/apps/p/d/one/")
	require.NoError(t, err)
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for i := range 3 {
		for range 20 { // other connections come and go meanwhile
			require.Equal(t, http.StatusNoContent, p.ready())
		}
		next <- strconv.Itoa(i)
		require.True(t, lines.Scan())
		require.Equal(t, "data: "+strconv.Itoa(i), lines.Text())
		require.True(t, lines.Scan())
	}
}
