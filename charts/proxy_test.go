package charts_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/md5"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"
	"k8s.io/client-go/rest"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy/dataproxyconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project/projectconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

const (
	host = "flyte.example.com"
	// silence is how long the proxies in the test let a stream be silent, in place of minutes and hours, and beat the server's pause
	// between heartbeats, in place of 15 s. A proxy ends streams whose heartbeats it keeps back.
	silence = 8 * time.Second
	beat    = 200 * time.Millisecond
)

// TestOneHostThroughAProxy: the console, Connect, gRPC, long streams and an upload pass through real proxies, configured as they are
// for what the chart renders.
func TestOneHostThroughAProxy(t *testing.T) {
	for _, proxy := range []struct {
		name, values string
		configure    func(t *testing.T, values, dir, upstream string) proxyProgram
	}{
		{"nginx", "testdata/values/ingress-nginx.yaml", nginx},
		{"envoy", "testdata/values/gateway.yaml", envoy},
	} {
		t.Run(proxy.name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.Chmod(dir, 0o755)) // the proxy may run as another user
			writeCertificate(t, dir)
			program := proxy.configure(t, proxy.values, dir, startAPI(t, proxy.values))
			servesOneHost(t, startProxy(t, program))
		})
	}
}

// servesOneHost does what browsers and SDKs do, through a proxy.
func servesOneHost(t *testing.T, client *http.Client) {
	t.Helper()
	const url = "https://" + host

	answer, err := client.Get(url + "/v2/")
	require.NoError(t, err)
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode, string(body))
	require.Contains(t, string(body), "<html")

	kinds := map[string][]connect.ClientOption{"connect": nil, "json": {connect.WithProtoJSON()}, "grpc": {connect.WithGRPC()}, "grpc-web": {connect.WithGRPCWeb()}}
	for name, options := range kinds {
		calls(t, client, name, options...)
	}
	transport, ok := client.Transport.(*http.Transport)
	require.True(t, ok)
	old := &http.Transport{DialContext: transport.DialContext, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer old.CloseIdleConnections()
	calls(t, &http.Client{Transport: old}, "connect over HTTP/1.1")

	uploads(t, client, url)
	var streams sync.WaitGroup
	broken := make(chan error, len(kinds))
	for name, options := range kinds {
		runs := workflowconnect.NewRunServiceClient(client, url, options...)
		streams.Go(func() {
			if err := stays(t.Context(), runs); err != nil {
				broken <- fmt.Errorf("%s: %w", name, err)
			}
		})
	}
	streams.Wait()
	close(broken)
	for err := range broken {
		require.NoError(t, err)
	}
}

// calls makes calls that succeed and that fail.
func calls(t *testing.T, client *http.Client, name string, options ...connect.ClientOption) {
	t.Helper()
	listed, err := projectconnect.NewProjectServiceClient(client, "https://"+host, options...).ListProjects(t.Context(), &project.ListProjectsRequest{})
	require.NoError(t, err, name)
	require.NotEmpty(t, listed.GetProjects().GetProjects(), name)
	_, err = workflowconnect.NewRunServiceClient(client, "https://"+host, options...).GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{
		RunId: &common.RunIdentifier{Project: projectID, Domain: domainID, Name: "nothing"},
	})
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err), "%s: %v", name, err)
}

// stays watches for longer than the proxy lets a stream be silent.
func stays(ctx context.Context, runs workflowconnect.RunServiceClient) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	stream, err := runs.WatchRuns(ctx, &workflow.WatchRunsRequest{
		Target: &workflow.WatchRunsRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: projectID, Domain: domainID}},
	})
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	heartbeats := 0
	for began := time.Now(); time.Since(began) < silence+silence/4; heartbeats++ {
		if !stream.Receive() {
			return fmt.Errorf("the stream ended after %d heartbeats: %w", heartbeats, stream.Err())
		}
	}
	return nil
}

// uploads sends more than proxies take by default.
func uploads(t *testing.T, client *http.Client, url string) {
	t.Helper()
	code := bytes.Repeat([]byte("code"), 2<<20)
	digest := md5.Sum(code)
	place, err := dataproxyconnect.NewDataProxyServiceClient(client, url).CreateUploadLocation(t.Context(), &dataproxy.CreateUploadLocationRequest{
		Project: projectID, Domain: domainID, Filename: "fast.tar.gz", ContentMd5: digest[:], ExpiresIn: durationpb.New(time.Minute), AddContentMd5Metadata: true,
	})
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(place.GetSignedUrl(), url), place.GetSignedUrl())
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, place.GetSignedUrl(), bytes.NewReader(code))
	require.NoError(t, err)
	request.Header.Set("Content-MD5", base64.StdEncoding.EncodeToString(digest[:]))
	for name, value := range place.GetHeaders() {
		request.Header.Set(name, value)
	}
	answer, err := client.Do(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)
	stored, err := os.ReadFile(place.GetNativeUrl())
	require.NoError(t, err)
	require.Equal(t, code, stored)
}

// startAPI starts a server with the configuration that the chart renders for the host, and returns its address.
func startAPI(t *testing.T, values string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "flyte.yaml")
	all := objects(t, render(t, "-f", values))
	require.NoError(t, os.WriteFile(path, []byte(serverFile(t, all)), 0o600))
	config, err := configuration.Load(path, []string{
		"server.listen=127.0.0.1:0", "database.url=" + pgtest.URL(pgtest.Schemas(t, manager.Schemas()...)), "database.passwordFile=", "storage.url=" + t.TempDir(),
		"executor.startupWait=0s", "replicas.several=false", "runs.watch.heartbeat=" + beat.String(),
	})
	require.NoError(t, err)
	log := zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.ErrorLevel)
	server, err := manager.Complete(t.Context(), config, manager.Options{Logger: log, REST: &rest.Config{Host: "http://127.0.0.1:1"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.WithoutCancel(t.Context()))) })
	require.NoError(t, server.Start(t.Context()))
	return server.Addr()
}

// proxyProgram is a proxy that is configured and not started.
type proxyProgram struct {
	path string
	args []string
	// socket is the Unix socket where it listens with TLS.
	socket string
	stop   syscall.Signal
}

// startProxy starts a proxy, and returns a client that takes every host for it.
func startProxy(t *testing.T, program proxyProgram) *http.Client {
	t.Helper()
	command := exec.CommandContext(context.WithoutCancel(t.Context()), program.path, program.args...)
	var log bytes.Buffer
	command.Stderr = &log
	require.NoError(t, command.Start())
	dial := func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", program.socket)
	}
	transport := &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		ForceAttemptHTTP2: true,
	}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		require.NoError(t, command.Process.Signal(program.stop))
		_ = command.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	require.Eventually(t, func() bool {
		connection, err := dial(t.Context())
		return err == nil && connection.Close() == nil
	}, time.Minute, 10*time.Millisecond, "%s does not listen", program.path)
	return &http.Client{Transport: transport}
}

func writeCertificate(t *testing.T, dir string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{host}, NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cert.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}), 0o600))
}
