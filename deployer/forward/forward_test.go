package forward_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/deployer/forward"
)

func listen(t *testing.T) net.Listener {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	return listener
}

func serve(t *testing.T, to string) string {
	listener := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- forward.Forwarder{To: to}.Serve(ctx, listener) }()
	t.Cleanup(func() { cancel(); require.NoError(t, <-done) })
	return listener.Addr().String()
}

// A client may end its request before it reads the answer.
func TestTheEndOfOneDirectionLeavesTheOtherOpen(t *testing.T) {
	program := listen(t)
	go func() {
		conn, err := program.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		request, _ := io.ReadAll(conn)
		_, _ = conn.Write(append([]byte("answer to "), request...))
	}()
	conn, err := net.Dial("tcp", serve(t, program.Addr().String()))
	require.NoError(t, err)
	_, err = conn.Write([]byte("question"))
	require.NoError(t, err)
	require.NoError(t, conn.(*net.TCPConn).CloseWrite())
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Equal(t, "answer to question", string(answer))
}

func TestStreamsPassAtOnce(t *testing.T) {
	release := make(chan struct{})
	program := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "first\n")
		w.(http.Flusher).Flush()
		<-release
	}))
	defer program.Close()
	answer, err := http.Get("http://" + serve(t, program.Listener.Addr().String()))
	require.NoError(t, err)
	line, err := bufio.NewReader(answer.Body).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "first\n", line)
	close(release)
	answer.Body.Close()
}

func TestReadyMeansThatTheProgramListens(t *testing.T) {
	program := listen(t)
	ask := func() int {
		answer := httptest.NewRecorder()
		forward.Forwarder{To: program.Addr().String()}.Ready().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/ready", nil))
		return answer.Code
	}
	require.Equal(t, http.StatusNoContent, ask())
	program.Close()
	require.Equal(t, http.StatusServiceUnavailable, ask())
}

func TestAProgramThatDoesNotListenEndsTheConnection(t *testing.T) {
	program := listen(t)
	address := program.Addr().String()
	program.Close()
	conn, err := net.Dial("tcp", serve(t, address))
	require.NoError(t, err)
	_, err = conn.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
}
