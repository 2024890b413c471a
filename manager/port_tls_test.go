package manager_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	metricnoop "go.opentelemetry.io/otel/metric/noop"

	"github.com/flyte-binary/flyte-binary/internal/test/certtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/loglimit"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/manager/port"
)

// TestAPortOnLoopbackSpeaksTLSAndPlainText calls one port in every way, and replaces its certificate meanwhile.
func TestAPortOnLoopbackSpeaksTLSAndPlainText(t *testing.T) {
	authority, dir := certtest.New(t), t.TempDir()
	config := configuration.DefaultServerConfig()
	config.TLS = configuration.TLSConfig{CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key")}
	authority.Issue(t, config.TLS.CertFile, config.TLS.KeyFile)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	clients, err := port.NewClients(config, zerolog.Nop(), loglimit.New(nil), metricnoop.NewMeterProvider())
	require.NoError(t, err)
	now := clock.NewFake(time.Now())
	served, err := port.NewPort(config, listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Proto+" "+map[bool]string{true: "encrypted", false: "plain"}[r.TLS != nil])
	}), clients, nil, func() {}, now, zerolog.Nop())
	require.NoError(t, err)
	require.NoError(t, served.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, served.Stop(context.WithoutCancel(t.Context()))) })

	call := func(url string, http2 bool) (string, *tls.ConnectionState) {
		protocols := new(http.Protocols)
		protocols.SetHTTP1(!http2)
		protocols.SetHTTP2(http2)
		protocols.SetUnencryptedHTTP2(http2)
		transport := &http.Transport{Protocols: protocols, TLSClientConfig: &tls.Config{RootCAs: authority.Pool}}
		defer transport.CloseIdleConnections()
		response, err := (&http.Client{Transport: transport}).Get(url + listener.Addr().String())
		require.NoError(t, err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return string(body), response.TLS
	}
	for url, kind := range map[string]string{"http://": "plain", "https://": "encrypted"} {
		for http2, version := range map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"} {
			got, _ := call(url, http2)
			require.Equal(t, version+" "+kind, got)
		}
	}

	_, state := call("https://", true)
	before := state.PeerCertificates[0].SerialNumber
	authority.Issue(t, config.TLS.CertFile, config.TLS.KeyFile)
	later := time.Now().Add(time.Minute)
	require.NoError(t, os.Chtimes(config.TLS.CertFile, later, later))
	_, state = call("https://", true)
	require.Equal(t, before, state.PeerCertificates[0].SerialNumber, "the files are not looked at for each connection")
	now.Step(time.Minute)
	_, state = call("https://", true)
	require.NotEqual(t, before, state.PeerCertificates[0].SerialNumber)

	require.NoError(t, os.WriteFile(config.TLS.CertFile, []byte("half a file"), 0o600))
	now.Step(time.Minute)
	got, _ := call("https://", true)
	require.Equal(t, "HTTP/2.0 encrypted", got, "the last certificate serves")
}

// TestAPortNeedsItsCertificate names the file that cannot be read.
func TestAPortNeedsItsCertificate(t *testing.T) {
	config := testConfig(t)
	config.Server.TLS = configuration.TLSConfig{CertFile: "/nowhere/tls.crt", KeyFile: "/nowhere/tls.key"}
	require.NoError(t, config.Validate())
	config.Server.TLS.KeyFile = ""
	require.ErrorContains(t, config.Validate(), "server.tls.keyFile: is required with certFile")
}
