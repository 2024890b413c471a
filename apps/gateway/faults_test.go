package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/websocket"

	"github.com/flyte-binary/flyte-binary/apps/gateway"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
)

// mortal is a replica that can be killed: its listener and all its connections end at once.
type mortal struct {
	address string
	seen    atomic.Int64
	server  *http.Server
}

func newMortal(t *testing.T, address string) *mortal {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	require.NoError(t, err)
	m := &mortal{address: listener.Addr().String()}
	m.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.seen.Add(1)
		_ = http.NewResponseController(w).EnableFullDuplex()
		_, _ = io.Copy(w, r.Body)
	})}
	go func() { _ = m.server.Serve(listener) }()
	t.Cleanup(m.kill)
	return m
}

func (m *mortal) kill() { _ = m.server.Close() }

// TestAReplicaIsKilledUnderLoad kills one of two replicas, again and again, while requests continue. Only those that were in
// flight at that moment can break; all that come later are answered, although the route still names the dead one.
func TestAReplicaIsKilledUnderLoad(t *testing.T) {
	const workers, rounds = 8, 10
	steady, victim := newMortal(t, "127.0.0.1:0"), newMortal(t, "127.0.0.1:0")
	f := start(t, newApps(route("one", steady.address, victim.address)), options{})
	client := &http.Client{Transport: transport(t, false)}
	ctx, cancel := context.WithCancel(t.Context())
	var sent, lost, broken, kills atomic.Int64 // kills is odd during a kill
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				text, before := fmt.Sprint("request ", i), kills.Load()
				response, err := client.Post(f.url+"/apps/p/d/one/", "text/plain", strings.NewReader(text))
				require.NoError(t, err)
				body, err := io.ReadAll(response.Body)
				response.Body.Close()
				sent.Add(1)
				if err == nil && response.StatusCode == http.StatusOK && string(body) == text {
					continue
				}
				broken.Add(1)
				if before%2 == 0 && before == kills.Load() {
					lost.Add(1)
					t.Logf("lost: %d %s %v", response.StatusCode, body, err)
				}
			}
		})
	}
	more := func(count int64) {
		until := sent.Load() + count
		require.Eventually(t, func() bool { return sent.Load() > until }, time.Minute, time.Millisecond)
	}
	for range rounds {
		more(50)
		kills.Add(1)
		victim.kill()
		kills.Add(1)
		more(50)
		victim = newMortal(t, victim.address)
		require.Eventually(t, func() bool { return victim.seen.Load() > 0 }, time.Minute, time.Millisecond, "it gets requests again")
	}
	cancel()
	group.Wait()
	t.Logf("%d requests, %d broken while a replica died", sent.Load(), broken.Load())
	require.Zero(t, lost.Load())
	require.LessOrEqual(t, broken.Load(), int64(workers*rounds))
}

// TestTheOnlyReplicaStartsAgain: requests wait for it, and none is lost.
func TestTheOnlyReplicaStartsAgain(t *testing.T) {
	only := newMortal(t, "127.0.0.1:0")
	f := start(t, newApps(route("one", only.address)), options{})
	_, _, body := f.do(t, http.MethodPost, "/apps/p/d/one/", strings.NewReader("first"), nil)
	require.Equal(t, "first", body)
	only.kill()
	answered := make(chan string)
	go func() {
		_, _, body := f.do(t, http.MethodPost, "/apps/p/d/one/", strings.NewReader(strings.Repeat("second", 10_000)), nil)
		answered <- body
	}()
	require.Eventually(t, func() bool { return f.service.Waiting() == 1 }, time.Minute, time.Millisecond)
	newMortal(t, only.address)
	require.Len(t, <-answered, len("second")*10_000)
}

// TestAReplicaThatDiesWithARequest: what was sent is not sent again, and the client learns it.
func TestAReplicaThatDiesWithARequest(t *testing.T) {
	var seen atomic.Int64
	f := start(t, newApps(route("one", replica(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		seen.Add(1)
		panic(http.ErrAbortHandler)
	}), replica(t, says("never")))), options{})
	broken := 0
	for range 20 {
		status, _, body := f.do(t, http.MethodPost, "/apps/p/d/one/", strings.NewReader("x"), nil)
		if status == http.StatusBadGateway {
			require.Contains(t, body, "broke the connection")
			broken++
		}
	}
	require.Positive(t, broken)
	require.EqualValues(t, broken, seen.Load(), "each was sent once")
}

// TestATargetThatLeavesTheRoute gets no new requests; those in flight end.
func TestATargetThatLeavesTheRoute(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	old := replica(t, func(w http.ResponseWriter, _ *http.Request) {
		entered <- struct{}{}
		<-leave
		_, _ = io.WriteString(w, "old")
	})
	f := start(t, newApps(route("one", old)), options{})
	answered := make(chan string)
	go func() {
		_, _, body := f.get(t, "/apps/p/d/one/", nil)
		answered <- body
	}()
	<-entered
	f.apps.set(route("one", replica(t, says("new"))))
	f.settle(t)
	for range 10 {
		_, _, body := f.get(t, "/apps/p/d/one/", nil)
		require.Equal(t, "new", body)
	}
	close(leave)
	require.Equal(t, "old", <-answered)
}

// TestRoutesChange changes the routes of some apps all the time, while requests continue.
func TestRoutesChange(t *testing.T) {
	const count = 10
	var routes []*enginev1.AppRoute
	backends := make([][]string, count)
	for i := range count {
		name := fmt.Sprint("app", i)
		backends[i] = []string{replica(t, says(name)), replica(t, says(name)), replica(t, says(name))}
		routes = append(routes, route(name, backends[i]...))
	}
	f := start(t, newApps(routes...), options{})
	client := &http.Client{Transport: transport(t, false)}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i := range 100 {
				one := i % count
				name := fmt.Sprint("app", one)
				f.apps.set(route(name, backends[one][:1+rand.IntN(3)]...))
				response, err := client.Get(f.url + "/apps/p/d/" + name + "/")
				require.NoError(t, err)
				body, err := io.ReadAll(response.Body)
				response.Body.Close()
				require.NoError(t, err)
				require.Equal(t, name, string(body))
			}
		})
	}
	group.Wait()
}

// TestSlowClients: a body that stops or trickles ends; a client that takes nothing of an answer ends.
func TestSlowClients(t *testing.T) {
	read := make(chan error, 1)
	f := start(t, newApps(route("one", replica(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			_, err := io.Copy(io.Discard, r.Body)
			read <- err
			return
		}
		chunk := bytes.Repeat([]byte("x"), 1<<20)
		for {
			if _, err := w.Write(chunk); err != nil {
				read <- err
				return
			}
		}
	}))), options{grace: 50 * time.Millisecond, config: func(c *gateway.Config) { c.StallTimeout = 50 * time.Millisecond }})
	conn, err := net.Dial("tcp", f.host)
	require.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST /apps/p/d/one/ HTTP/1.1\r\nHost: %s\r\nContent-Length: 1000\r\n\r\nbegin", f.host)
	require.NoError(t, err)
	require.Error(t, <-read)
	if response, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil { // the connection may be gone before
		response.Body.Close()
		require.Equal(t, http.StatusBadRequest, response.StatusCode)
	}

	stuck, err := net.Dial("tcp", f.host)
	require.NoError(t, err)
	defer stuck.Close()
	_, err = fmt.Fprintf(stuck, "GET /apps/p/d/one/ HTTP/1.1\r\nHost: %s\r\n\r\n", f.host)
	require.NoError(t, err)
	require.Error(t, <-read, "the replica is free again, although the client reads nothing")
}

// measuredBody records whether the time that its client takes is measured.
type measuredBody struct {
	io.ReadCloser
	paused atomic.Bool
}

func (b *measuredBody) Pause()  { b.paused.Store(true) }
func (b *measuredBody) Resume() { b.paused.Store(false) }

// TestABodyMayWait: the time that a request waits for a replica is not its client's.
func TestABodyMayWait(t *testing.T) {
	a, measured := newApps(asleep("one")), &measuredBody{}
	f := start(t, a, options{guard: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				measured.ReadCloser, r.Body = r.Body, measured
			}
			next.ServeHTTP(w, r)
		})
	}})
	answered := make(chan string)
	body, upload := io.Pipe()
	go func() {
		_, _, text := f.do(t, http.MethodPost, "/apps/p/d/one/", body, nil)
		answered <- text
	}()
	require.Eventually(t, func() bool { return f.service.Waiting() == 1 }, time.Minute, time.Millisecond)
	require.True(t, measured.paused.Load())
	pausedAtTheReplica := make(chan bool, 1)
	a.set(route("one", replica(t, func(w http.ResponseWriter, r *http.Request) {
		pausedAtTheReplica <- measured.paused.Load()
		_, _ = io.Copy(w, r.Body)
	})))
	require.False(t, <-pausedAtTheReplica)
	_, err := io.WriteString(upload, "late")
	require.NoError(t, err)
	require.NoError(t, upload.Close())
	require.Equal(t, "late", <-answered)
}

// TestManyWebSockets opens 1,000 WebSockets and says what they cost.
func TestManyWebSockets(t *testing.T) {
	const count = 1000
	f := start(t, newApps(route("one", echo(t))), options{})
	inUse := func() uint64 {
		runtime.GC()
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		return memory.HeapInuse + memory.StackInuse
	}
	before := inUse()
	sockets := make([]*websocket.Conn, count)
	for i := range sockets {
		sockets[i] = open(t, f, "/apps/p/d/one/", f.host)
	}
	for round := range 2 {
		for i, ws := range sockets {
			text := fmt.Sprint(round, " ", i)
			require.NoError(t, websocket.Message.Send(ws, text))
			var got string
			require.NoError(t, websocket.Message.Receive(ws, &got))
			require.Equal(t, text, got)
		}
	}
	each := (inUse() - before) / count
	t.Logf("%d KiB for each WebSocket, with its client, its replica and its way through the gateway", each>>10)
	require.Less(t, each, uint64(256<<10))
}
