package manager

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/flyte-binary/flyte-binary/internal/test/certtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/loglimit"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/manager/port"
)

// startPort starts a port with a handler and returns its address.
func startPort(t *testing.T, config configuration.ServerConfig, handler http.Handler, meter metric.MeterProvider) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	clients, err := port.NewClients(config, zerolog.Nop(), loglimit.New(nil), meter)
	require.NoError(t, err)
	p, err := port.NewPort(config, listener, handler, clients, nil, func() {}, clock.System{}, zerolog.Nop())
	require.NoError(t, err)
	require.NoError(t, p.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, p.Stop(context.Background())) })
	return listener.Addr().String()
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	return conn
}

// TestConnectionOfAVanishedPeerIsClosed speaks HTTP/2 up to the first ping and never answers it, like a client whose
// machine has vanished.
func TestConnectionOfAVanishedPeerIsClosed(t *testing.T) {
	config := configuration.DefaultServerConfig()
	config.PingAfter, config.PingTimeout = 50*time.Millisecond, 50*time.Millisecond
	address := startPort(t, config, http.NotFoundHandler(), noop.NewMeterProvider())
	conn := dial(t, address)
	_, err := io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00") // with empty settings
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, conn)
	require.NoError(t, err, "the server ends the connection")
}

// TestASlowHeaderEndsItsConnection sends a byte of a header now and then, in the first request of a connection and in a later
// one. Nothing is answered.
func TestASlowHeaderEndsItsConnection(t *testing.T) {
	config := configuration.DefaultServerConfig()
	config.HeaderTimeout = 50 * time.Millisecond
	address := startPort(t, config, http.NotFoundHandler(), noop.NewMeterProvider())
	for name, first := range map[string]string{"first": "", "later": "GET / HTTP/1.1\r\nHost: " + address + "\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			conn := dial(t, address)
			if first != "" {
				_, err := io.WriteString(conn, first)
				require.NoError(t, err)
				response, err := http.ReadResponse(bufio.NewReader(conn), nil)
				require.NoError(t, err)
				require.NoError(t, response.Body.Close())
			}
			_, err := io.WriteString(conn, "GET / HTTP/1.1\r\nX-Slow: ")
			require.NoError(t, err)
			require.Eventually(t, func() bool {
				_, err := io.WriteString(conn, "x")
				return err != nil
			}, time.Minute, 5*time.Millisecond)
		})
	}
}

// TestAHandshakeThatStallsEndsItsConnection: a client that says nothing, or less than a handshake takes, has as long as for a header.
func TestAHandshakeThatStallsEndsItsConnection(t *testing.T) {
	authority, dir := certtest.New(t), t.TempDir()
	config := configuration.DefaultServerConfig()
	config.HeaderTimeout = 50 * time.Millisecond
	config.TLS = configuration.TLSConfig{CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key")}
	authority.Issue(t, config.TLS.CertFile, config.TLS.KeyFile)
	for _, where := range []string{"loopback, which speaks plain text too", "other machines"} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		address := listener.Addr().String()
		if where == "other machines" {
			listener = elsewhere{listener}
		}
		clients, err := port.NewClients(config, zerolog.Nop(), loglimit.New(nil), noop.NewMeterProvider())
		require.NoError(t, err)
		served, err := port.NewPort(config, listener, http.NotFoundHandler(), clients, nil, func() {}, clock.System{}, zerolog.Nop())
		require.NoError(t, err)
		require.NoError(t, served.Start(t.Context()))
		t.Cleanup(func() { require.NoError(t, served.Stop(context.WithoutCancel(t.Context()))) })
		for name, first := range map[string]string{"nothing": "", "a byte": "\x16", "half a record": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"} {
			t.Run(where+"/"+name, func(t *testing.T) {
				conn := dial(t, address)
				_, err := io.WriteString(conn, first)
				require.NoError(t, err)
				_, err = io.Copy(io.Discard, conn)
				require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the server has ended it")
			})
		}
	}
}

// elsewhere is a listener that other machines seem to reach.
type elsewhere struct{ net.Listener }

func (elsewhere) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 443} }

// TestConnectionsOfAClientAreBounded opens more connections than allowed, and another once one has ended.
func TestConnectionsOfAClientAreBounded(t *testing.T) {
	config := configuration.DefaultServerConfig()
	config.ConnectionsPerClient = 3
	reader := sdkmetric.NewManualReader()
	address := startPort(t, config, http.NotFoundHandler(), sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	answers := func(conn net.Conn) bool {
		_, err := fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", address)
		if err != nil {
			return false
		}
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			return false
		}
		return response.Body.Close() == nil
	}
	var open []net.Conn
	for range 3 {
		conn := dial(t, address)
		require.True(t, answers(conn))
		open = append(open, conn)
	}
	require.False(t, answers(dial(t, address)))
	require.Positive(t, counted(t, reader))

	open[0].Close()
	require.Eventually(t, func() bool { return answers(dial(t, address)) }, time.Minute, time.Millisecond)
}

// TestStreamsOfAClientAreBounded holds as many requests as allowed.
func TestStreamsOfAClientAreBounded(t *testing.T) {
	config := configuration.DefaultServerConfig()
	config.RequestsPerClient = 3
	reader := sdkmetric.NewManualReader()
	entered, leave := make(chan struct{}), make(chan struct{})
	address := startPort(t, config, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/held" {
			entered <- struct{}{}
			<-leave
		}
	}), sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	done := make(chan error, 3)
	for range 3 {
		go func() {
			response, err := client.Get("http://" + address + "/held")
			if err == nil {
				response.Body.Close()
			}
			done <- err
		}()
		<-entered
	}
	post := func(content string) (int, string) {
		response, err := client.Post("http://"+address+"/a.B/C", content, strings.NewReader("{}"))
		require.NoError(t, err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, string(body)
	}
	status, body := post("application/json")
	require.Equal(t, http.StatusTooManyRequests, status)
	require.Contains(t, body, `"code":"resource_exhausted"`)
	require.Contains(t, body, "server.requestsPerClient")
	status, _ = post("text/plain")
	require.Equal(t, http.StatusTooManyRequests, status)
	require.EqualValues(t, 2, counted(t, reader))

	close(leave)
	for range 3 {
		require.NoError(t, <-done)
	}
	require.Eventually(t, func() bool {
		status, _ := post("application/json")
		return status == http.StatusOK
	}, time.Minute, time.Millisecond)
}

// TestLargeHeadersAreRefused sends headers without end.
func TestLargeHeadersAreRefused(t *testing.T) {
	address := startPort(t, configuration.DefaultServerConfig(), http.NotFoundHandler(), noop.NewMeterProvider())
	conn := dial(t, address)
	_, err := fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\nX-Flood: %s\r\n\r\n", address, strings.Repeat("x", 2*port.MaxHeader))
	if err == nil {
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err == nil { // the server may have closed the connection before everything was sent
			response.Body.Close()
			require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, response.StatusCode)
		}
	}
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	request, err := http.NewRequest(http.MethodGet, "http://"+address, nil)
	require.NoError(t, err)
	for i := range 2 * port.MaxHeader / 100 {
		request.Header.Set(fmt.Sprint("X-Flood-", i), strings.Repeat("x", 100))
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err == nil {
		response.Body.Close()
		require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, response.StatusCode)
	}
}

// counted is how much the port has refused.
func counted(t *testing.T, reader sdkmetric.Reader) (total int64) {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &all))
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if points, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == "flyte.port.refused" {
				for _, point := range points.DataPoints {
					total += point.Value
				}
			}
		}
	}
	return total
}
