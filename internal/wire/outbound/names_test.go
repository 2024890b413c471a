package outbound_test

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/wire/outbound"
)

// nameServer answers every question for an IPv4 address with the current one.
type nameServer struct {
	current atomic.Pointer[netip.Addr]
	asked   atomic.Int32
}

// newNameServer starts a DNS server on this machine and has the process ask it, until the test ends.
func newNameServer(t *testing.T) *nameServer {
	t.Helper()
	s := &nameServer{}
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		question := make([]byte, 1500)
		for {
			n, from, err := socket.ReadFrom(question)
			if err != nil {
				return
			}
			_, _ = socket.WriteTo(s.answer(question[:n]), from)
		}
	}()
	before := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", socket.LocalAddr().String())
	}}
	t.Cleanup(func() {
		net.DefaultResolver = before
		require.NoError(t, socket.Close())
		<-done
	})
	return s
}

// answer builds a DNS message: the header, the question again, and for type A an address that may not be cached.
func (s *nameServer) answer(question []byte) []byte {
	const header = 12
	end := header + bytes.IndexByte(question[header:], 0) + 5 // the name, its type and its class
	answer := append([]byte{question[0], question[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, question[header:end]...)
	if question[end-3] == 1 { // type A
		s.asked.Add(1)
		answer[7] = 1
		answer = append(answer, 0xc0, header, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
		answer = append(answer, s.current.Load().AsSlice()...)
	}
	return answer
}

func (s *nameServer) set(address string) {
	parsed := netip.MustParseAddr(address)
	s.current.Store(&parsed)
}

// TestANameWhoseAddressChanges: the owner of a name may answer with a public address first and with a private one when the
// call is made. What counts is the address that is dialled. It changes how the process resolves names, so it does not run
// in parallel with other tests.
func TestANameWhoseAddressChanges(t *testing.T) {
	names := newNameServer(t)
	called := atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		called.Add(1)
		w.Header().Set("Connection", "close") // the next call dials again
	}))
	t.Cleanup(server.Close)
	client, err := outbound.NewClient(outbound.Config{Allow: []string{"127.0.0.1/32"}, Timeout: 10 * time.Second, Setting: "x.allow"})
	require.NoError(t, err)
	t.Cleanup(client.CloseIdleConnections)
	call := func() error {
		target := strings.Replace(server.URL, "127.0.0.1", "changes.example", 1)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target, strings.NewReader("x"))
		require.NoError(t, err)
		return outbound.Send(client, request)
	}
	names.set("127.0.0.1")
	require.NoError(t, call(), "the name stands for an allowed address")
	require.EqualValues(t, 1, called.Load())
	for _, address := range []string{"169.254.169.254", "10.0.0.7", "127.0.0.2"} {
		names.set(address)
		require.ErrorContains(t, call(), "the address "+address+" must not be called; see x.allow")
	}
	require.EqualValues(t, 1, called.Load())
	require.GreaterOrEqual(t, names.asked.Load(), int32(4))
}
