package manager

import (
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/browserguard"
)

// TestConnectionOfAVanishedPeerIsClosed speaks HTTP/2 up to the first ping and never answers it, like a client whose
// machine has vanished.
func TestConnectionOfAVanishedPeerIsClosed(t *testing.T) {
	config := DefaultServerConfig()
	config.PingAfter, config.PingTimeout = 50*time.Millisecond, 50*time.Millisecond
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := newPort(config, browserguard.NewHosts(), listener, http.NotFoundHandler(), func() {}, zerolog.Nop())
	require.NoError(t, p.Start(t.Context()))
	defer func() { require.NoError(t, p.Stop(t.Context())) }()

	conn, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00") // with empty settings
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(20*time.Second)))
	_, err = io.Copy(io.Discard, conn)
	require.NoError(t, err, "the server ends the connection")
}
