package forward_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/inpod/forward"
)

const wait = time.Minute

// free is an address on which nothing listens, and whose port no one gets by asking for any: those begin above.
func free(t testing.TB) string {
	t.Helper()
	for {
		address := "127.0.0.1:" + strconv.Itoa(10_000+rand.IntN(20_000))
		if listener, err := net.Listen("tcp", address); err == nil {
			require.NoError(t, listener.Close())
			return address
		}
	}
}

func listen(t testing.TB, address string) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	return listener
}

// forwarder runs as in a pod.
type forwarder struct {
	t                        *testing.T
	program, traffic, probes string
	cancel                   context.CancelFunc
	done                     chan error
}

func start(t *testing.T, program string) *forwarder {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	f := &forwarder{t: t, program: program, traffic: free(t), probes: free(t), cancel: cancel, done: make(chan error, 1)}
	go func() { f.done <- forward.Forwarder{To: program}.Run(ctx, f.traffic, f.probes) }()
	t.Cleanup(f.stop)
	return f
}

func (f *forwarder) stop() {
	f.t.Helper()
	f.cancel()
	err := <-f.done
	f.done <- err
	require.NoError(f.t, err)
}

// ready is what a probe of the kubelet sees; 0 for no answer.
func (f *forwarder) ready() int {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get("http://" + f.probes + "/ready")
	if err != nil {
		return 0
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

func (f *forwarder) awaits(status int) {
	f.t.Helper()
	require.Eventually(f.t, func() bool { return f.ready() == status }, wait, time.Millisecond)
}

// dial connects as soon as the forwarder takes connections.
func (f *forwarder) dial() net.Conn {
	f.t.Helper()
	var conn net.Conn
	require.Eventually(f.t, func() bool {
		var err error
		conn, err = net.Dial("tcp", f.traffic)
		return err == nil
	}, wait, time.Millisecond)
	f.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// refuses reports whether a client learns that nothing listens.
func (f *forwarder) refuses() bool {
	conn, err := net.Dial("tcp", f.traffic)
	if err == nil {
		_ = conn.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// each calls handle for each connection that a program gets, apart from those that only look whether it listens.
func each(listener net.Listener, handle func(*bufio.Reader, *net.TCPConn)) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			in := bufio.NewReader(conn)
			if _, err := in.Peek(1); err == nil {
				handle(in, conn.(*net.TCPConn))
			}
		}()
	}
}

// A client may end its request before it reads the answer.
func TestTheEndOfTheRequestLeavesTheAnswerOpen(t *testing.T) {
	program := listen(t, "127.0.0.1:0")
	go each(program, func(in *bufio.Reader, conn *net.TCPConn) {
		request, _ := io.ReadAll(in)
		_, _ = conn.Write(append([]byte("answer to "), request...))
	})
	conn := start(t, program.Addr().String()).dial()
	_, err := conn.Write([]byte("question"))
	require.NoError(t, err)
	require.NoError(t, conn.(*net.TCPConn).CloseWrite())
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Equal(t, "answer to question", string(answer))
}

// A program may end its answer before it has read the request.
func TestTheEndOfTheAnswerLeavesTheRequestOpen(t *testing.T) {
	program, got := listen(t, "127.0.0.1:0"), make(chan string, 1)
	go each(program, func(in *bufio.Reader, conn *net.TCPConn) {
		_, _ = conn.Write([]byte("answer"))
		_ = conn.CloseWrite()
		request, _ := io.ReadAll(in)
		got <- string(request)
	})
	conn := start(t, program.Addr().String()).dial()
	_, err := conn.Write([]byte("first, "))
	require.NoError(t, err)
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Equal(t, "answer", string(answer))
	_, err = conn.Write([]byte("second"))
	require.NoError(t, err)
	require.NoError(t, conn.(*net.TCPConn).CloseWrite())
	require.Equal(t, "first, second", <-got)
}

// A connection that breaks in one direction is of no use to the other.
func TestABrokenConnectionEndsTheOther(t *testing.T) {
	program, ended := listen(t, "127.0.0.1:0"), make(chan struct{}, 1)
	go each(program, func(in *bufio.Reader, _ *net.TCPConn) {
		_, _ = io.Copy(io.Discard, in)
		ended <- struct{}{}
	})
	conn := start(t, program.Addr().String()).dial()
	_, err := conn.Write([]byte("x"))
	require.NoError(t, err)
	require.NoError(t, conn.(*net.TCPConn).SetLinger(0)) // it ends with a reset
	require.NoError(t, conn.Close())
	<-ended
}

func TestStreamsPassAtOnce(t *testing.T) {
	release := make(chan struct{})
	program := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "first\n")
		w.(http.Flusher).Flush()
		<-release
	}))
	defer program.Close()
	f := start(t, program.Listener.Addr().String())
	f.dial()
	answer, err := http.Get("http://" + f.traffic)
	require.NoError(t, err)
	line, err := bufio.NewReader(answer.Body).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "first\n", line)
	close(release)
	answer.Body.Close()
}

// Connections without traffic stay open while others come and go, and when the forwarder receives SIGTERM: its process keeps running
// for as long as the pod does.
func TestIdleConnectionsStayOpen(t *testing.T) {
	program := listen(t, "127.0.0.1:0")
	go each(program, func(in *bufio.Reader, conn *net.TCPConn) {
		for line, err := in.ReadString('\n'); err == nil; line, err = in.ReadString('\n') {
			_, _ = io.WriteString(conn, line)
		}
	})
	f := start(t, program.Addr().String())
	echo := func(conn net.Conn, text string) {
		t.Helper()
		_, err := io.WriteString(conn, text+"\n")
		require.NoError(t, err)
		line, err := bufio.NewReader(conn).ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, text+"\n", line)
	}
	var idle []net.Conn
	for range 20 {
		conn := f.dial()
		echo(conn, "hello")
		idle = append(idle, conn)
	}
	for range 200 {
		conn := f.dial()
		echo(conn, "short")
		require.NoError(t, conn.Close())
	}
	for _, conn := range idle {
		echo(conn, "again")
	}
	f.stop()
	require.True(t, f.refuses())
	for _, conn := range idle {
		echo(conn, "and again")
	}
}

func TestReadyMeansThatTheProgramListens(t *testing.T) {
	address := free(t)
	f := start(t, address)
	f.awaits(http.StatusServiceUnavailable)
	program := listen(t, address)
	f.awaits(http.StatusNoContent)
	require.NoError(t, program.Close())
	f.awaits(http.StatusServiceUnavailable)
	listen(t, address)
	f.awaits(http.StatusNoContent)
}

// Clients must not take a program for one that listens: what they send would be lost.
func TestConnectionsAreRefusedUntilTheProgramListens(t *testing.T) {
	address := free(t)
	f := start(t, address)
	f.awaits(http.StatusServiceUnavailable)
	require.True(t, f.refuses())
	program := listen(t, address)
	go each(program, func(in *bufio.Reader, conn *net.TCPConn) { _, _ = io.Copy(conn, in) })
	conn := f.dial()
	_, err := conn.Write([]byte("x"))
	require.NoError(t, err)
	_, err = io.ReadFull(conn, make([]byte, 1))
	require.NoError(t, err)

	// The program ends. The first connection that it does not take is the last one that is accepted.
	require.NoError(t, program.Close())
	last, err := net.Dial("tcp", f.traffic)
	require.NoError(t, err)
	defer last.Close()
	_, err = last.Read(make([]byte, 1))
	require.Error(t, err)
	require.Eventually(t, f.refuses, wait, time.Millisecond)
	_, err = conn.Write([]byte("y"))
	require.NoError(t, err)
	_, err = io.ReadFull(conn, make([]byte, 1))
	require.NoError(t, err, "connections in flight go on")

	program = listen(t, address)
	go each(program, func(in *bufio.Reader, conn *net.TCPConn) { _, _ = io.Copy(conn, in) })
	f.dial()
}

func TestAnAddressThatIsTakenIsAnError(t *testing.T) {
	program, taken := listen(t, "127.0.0.1:0"), listen(t, "127.0.0.1:0").Addr().String()
	f := forward.Forwarder{To: program.Addr().String()}
	require.ErrorIs(t, f.Run(t.Context(), "127.0.0.1:0", taken), syscall.EADDRINUSE)
	require.ErrorIs(t, f.Run(t.Context(), taken, "127.0.0.1:0"), syscall.EADDRINUSE)
}
