package monitoring_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task/taskconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/notifications/cloudevents"
	"github.com/flyte-binary/flyte-binary/tests/faults/proxy"
)

func scenarios() []scenario {
	return []scenario{
		{alert: "FlyteDatabaseDown", until: 8 * time.Minute, fires: "5m", ends: "12m", prepare: databaseDown,
			how: "A proxy before Postgres reset all connections and refused new ones."},
		{alert: "FlyteCreateRunBurnsBudget", until: 8 * time.Minute, fires: "6m", prepare: databaseDown,
			how: "Clients called CreateRun twice a second while a proxy before Postgres refused all connections."},
		{alert: "FlyteKubernetesDown", until: 8 * time.Minute, fires: "6m", ends: "12m", prepare: kubernetesDown,
			how: "A proxy before the API server reset all connections and refused new ones."},
		{alert: "FlyteCertificateExpires", until: 8 * time.Minute, fires: "11m", prepare: certificateExpires, rebase: "flyte_certificate_expiry_timestamp_seconds",
			how: "The connection to the API server had a client certificate that came within a week of its end after three minutes."},
		{alert: "FlyteStorageNotWritable", until: 8 * time.Minute, fires: "6m", ends: "12m", prepare: diskFull,
			how: "The storage directory was on a small disk that was filled."},
		{alert: "FlyteDiskFull", until: 9 * time.Minute, fires: "8m", ends: "12m", prepare: diskFull,
			how: "The storage directory was on a small disk that was filled."},
		{alert: "FlyteAdmissionStalled", until: 8 * time.Minute, fires: "6m", ends: "12m", prepare: leaseStolen("leases", "admission", 6*time.Second),
			how: "The lease of the admission loop was held by a process that did nothing."},
		{alert: "FlyteTriggersLate", until: 9 * time.Minute, fires: "8m30s", ends: "12m15s", prepare: leaseStolen("trigger_leases", "scheduler", 15*time.Second),
			how: "The lease of the scheduler was held by a process that did nothing; a trigger was due every minute."},
		{alert: "FlyteEventLagBurnsBudget", until: 8 * time.Minute, fires: "7m", prepare: eventLag,
			how: "Of two processes on one database, the one with the watches was cut off from the database for 40 s of every minute."},
		{alert: "FlyteQueueLatencyBurnsBudget", until: 8 * time.Minute, fires: "7m", prepare: queueLatency,
			how: "The controller, here a client that watches assignments, was away for 20 s of every 30 s."},
		{alert: "FlyteOutboxBacklog", until: 10 * time.Minute, fires: "9m45s", ends: "12m", prepare: outboxBacklog,
			how: "A sink of events answered 503."},
		{alert: "FlyteStreamsRefused", until: 10 * time.Minute, fires: "9m", prepare: streamsRefused,
			how: "A client opened more streams than server.requestsPerClient allows, again and again."},
		{alert: "FlyteGatewayErrors", until: 10 * time.Minute, fires: "9m", prepare: gatewayErrors,
			how: "An app of a demo answered every third of five requests a second with status 500."},
		{alert: "FlyteClusterAway", until: 8 * time.Minute, fires: "5m", ends: "12m", prepare: clusterAway,
			how: "A proxy between the controller of a cluster and the API reset all connections and refused new ones."},
		{alert: "FlyteRestarting", until: 8 * time.Minute, fires: "7m", prepare: restarts,
			how: "The process was killed every 75 s and started again."},
	}
}

func apiOnly(t *testing.T) configuration.Config {
	config := configured(t)
	config.Target = configuration.TargetAPI
	return config
}

// behind puts a proxy before the database of a configuration.
func behind(t *testing.T, config *configuration.Config) *proxy.TCP {
	address, err := url.Parse(config.Database.URL)
	require.NoError(t, err)
	query := address.Query()
	p, err := proxy.NewTCP(bridge(t, filepath.Join(query.Get("host"), ".s.PGSQL."+query.Get("port"))))
	require.NoError(t, err)
	t.Cleanup(p.Close)
	host, port, err := net.SplitHostPort(p.Addr())
	require.NoError(t, err)
	query.Set("host", host)
	query.Set("port", port)
	address.RawQuery = query.Encode()
	config.Database.URL = address.String()
	return p
}

// bridge forwards connections to a socket of Postgres, which has no port in tests, and returns where.
func bridge(t *testing.T, socket string) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var work sync.WaitGroup
	t.Cleanup(work.Wait)
	t.Cleanup(func() { listener.Close() })
	work.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("unix", socket)
			if err != nil {
				near.Close()
				continue
			}
			for from, to := range map[net.Conn]net.Conn{near: far, far: near} {
				work.Go(func() {
					defer to.Close()
					_, _ = io.Copy(to, from) // it ends when either side does
				})
			}
		}
	})
	return listener.Addr().String()
}

// repeatedly calls f until the test ends.
func repeatedly(t *testing.T, every time.Duration, f func(ctx context.Context, n int)) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for n := 0; ; n++ {
			f(ctx, n)
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
}

func creating(t *testing.T, url string) {
	runs := workflowconnect.NewRunServiceClient(http.DefaultClient, url)
	for worker := range 2 {
		repeatedly(t, time.Second, func(ctx context.Context, n int) {
			ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			_ = createRun(ctx, runs, fmt.Sprintf("load-%d-%d", worker, n)) // the fault fails some
		})
	}
}

func databaseDown(t *testing.T) (map[string]string, func(), func()) {
	config := apiOnly(t)
	p := behind(t, &config)
	server := start(t, config, nil)
	creating(t, server.url)
	return map[string]string{"one": server.url}, func() { p.Refuse(true); p.Cut() }, func() { p.Refuse(false) }
}

func kubernetesDown(t *testing.T) (map[string]string, func(), func()) {
	cluster := kubetest.New(t)
	config := configured(t)
	config.Actions.TaskActions.Namespace = cluster.Namespace
	config.Executor.Namespaces = []string{cluster.Namespace}
	address, err := url.Parse(cluster.Config.Host)
	require.NoError(t, err)
	p, err := proxy.NewTCP(address.Host)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	address.Host = p.Addr()
	reached := rest.CopyConfig(cluster.Config)
	reached.Host = address.String()
	server := start(t, config, reached)
	return map[string]string{"one": server.url}, func() { p.Refuse(true); p.Cut() }, func() { p.Refuse(false) }
}

func certificateExpires(t *testing.T) (map[string]string, func(), func()) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(7*24*time.Hour + 3*time.Minute)}
	body, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	require.NoError(t, err)
	secret, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	config := configured(t)
	config.Executor.StartupWait = 0
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	server := start(t, config, &rest.Config{Host: "https://" + listener.Addr().String(), TLSClientConfig: rest.TLSClientConfig{
		CertData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: body}),
		KeyData:  pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}),
	}})
	return map[string]string{"one": server.url}, func() {}, func() {}
}

func diskFull(t *testing.T) (map[string]string, func(), func()) {
	dir := t.TempDir()
	require.NoError(t, syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"), "recording this needs root")
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	config := apiOnly(t)
	config.Storage.URL = filepath.Join(dir, "store")
	config.Health.MinFreeBytes = 64 << 10
	server := start(t, config, nil)
	ballast := filepath.Join(dir, "ballast")
	return map[string]string{"one": server.url}, func() {
		_ = os.WriteFile(ballast, make([]byte, 2<<20), 0o600) // it ends for lack of space
	}, func() { _ = os.Remove(ballast) }
}

func leaseStolen(table, name string, length time.Duration) func(t *testing.T) (map[string]string, func(), func()) {
	return func(t *testing.T) (map[string]string, func(), func()) {
		config := apiOnly(t)
		server := start(t, config, nil)
		creating(t, server.url)
		_, err := taskconnect.NewTaskServiceClient(http.DefaultClient, server.url).DeployTask(t.Context(), &task.DeployTaskRequest{
			TaskId: &task.TaskIdentifier{Project: "flytesnacks", Domain: "development", Name: "scheduled", Version: "1"},
			Spec: &task.TaskSpec{TaskTemplate: &core.TaskTemplate{
				Type: "python", Id: &core.Identifier{Project: "flytesnacks", Domain: "development", Name: "scheduled", Version: "1"},
				Target: &core.TaskTemplate_Container{Container: &core.Container{Image: "hello:1"}},
			}},
			Triggers: []*task.TaskTrigger{{
				Name: "minutely", Spec: &task.TaskTriggerSpec{Active: true},
				AutomationSpec: &task.TriggerAutomationSpec{
					Type: task.TriggerAutomationSpecType_TYPE_SCHEDULE,
					Automation: &task.TriggerAutomationSpec_Schedule{Schedule: &task.Schedule{
						Expression: &task.Schedule_Cron{Cron: &task.Cron{Expression: "* * * * *", Timezone: "UTC"}},
					}},
				},
			}},
		})
		require.NoError(t, err)
		var stolen atomic.Bool
		repeatedly(t, length/3, func(ctx context.Context, _ int) {
			if !stolen.Load() {
				return
			}
			connection, err := pgx.Connect(ctx, config.Database.URL)
			if err != nil {
				return
			}
			defer connection.Close(ctx) //nolint:errcheck // nothing is pending
			_, _ = connection.Exec(ctx, "UPDATE "+table+" SET holder = 'thief', expires_at = $2 WHERE name = $1", name, time.Now().Add(length))
		})
		return map[string]string{"one": server.url}, func() { stolen.Store(true) }, func() { stolen.Store(false) }
	}
}

func eventLag(t *testing.T) (map[string]string, func(), func()) {
	config := apiOnly(t)
	other := config
	p := behind(t, &other)
	first, second := start(t, config, nil), start(t, other, nil)
	creating(t, first.url)
	watching(t, second.url, 5)
	var broken atomic.Bool
	repeatedly(t, 20*time.Second, func(_ context.Context, n int) {
		if broken.Load() && n%3 != 0 {
			p.Refuse(true)
			p.Cut()
		} else {
			p.Refuse(false)
		}
	})
	return map[string]string{"one": first.url, "two": second.url}, func() { broken.Store(true) }, func() { broken.Store(false) }
}

// watching keeps streams of lists of runs open.
func watching(t *testing.T, url string, streams int) {
	// From another address than the scrapes, which must not be refused with them.
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	transport := &http.Transport{DialContext: dialer.DialContext}
	t.Cleanup(transport.CloseIdleConnections)
	runs := workflowconnect.NewRunServiceClient(&http.Client{Transport: transport}, url)
	for range streams {
		repeatedly(t, time.Second, func(ctx context.Context, _ int) {
			stream, err := runs.WatchRuns(ctx, &workflow.WatchRunsRequest{
				Target: &workflow.WatchRunsRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: "flytesnacks", Domain: "development"}},
			})
			if err != nil {
				return
			}
			defer stream.Close() //nolint:errcheck // it is opened again
			for stream.Receive() {
			}
		})
	}
}

func queueLatency(t *testing.T) (map[string]string, func(), func()) {
	config := apiOnly(t)
	config.Auth.InternalToken = "recorded"
	server := start(t, config, nil)
	creating(t, server.url)
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	t.Cleanup(transport.CloseIdleConnections)
	engine := enginev1connect.NewEngineServiceClient(&http.Client{Transport: transport}, server.url, connect.WithGRPC(), rpc.WithInternalToken("recorded"))
	var broken atomic.Bool
	known := map[int64]bool{}
	repeatedly(t, 30*time.Second, func(ctx context.Context, _ int) {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		if !broken.Load() {
			cancel()
			ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		}
		defer cancel()
		assigned(ctx, engine, known)
	})
	return map[string]string{"one": server.url}, func() { broken.Store(true) }, func() { broken.Store(false) }
}

// assigned takes assignments as a controller does: by id those that are live already and that it does not know, and then what
// comes.
func assigned(ctx context.Context, engine enginev1connect.EngineServiceClient, known map[int64]bool) {
	stream, err := engine.WatchAssignments(ctx, &enginev1.WatchAssignmentsRequest{})
	if err != nil {
		return
	}
	defer stream.Close() //nolint:errcheck // it is opened again
	for stream.Receive() {
		known[stream.Msg().GetAssignment().GetRef().GetUid()] = true
		var ids []int64
		for _, ref := range stream.Msg().GetLive().GetRefs() {
			if !known[ref.GetUid()] {
				ids, known[ref.GetUid()] = append(ids, ref.GetUid()), true
			}
		}
		if len(ids) == 0 {
			continue
		}
		if _, err := engine.GetAssignments(ctx, &enginev1.GetAssignmentsRequest{Uids: ids}); err != nil {
			return
		}
	}
}

func outboxBacklog(t *testing.T) (map[string]string, func(), func()) {
	var broken atomic.Bool
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if broken.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(sink.Close)
	config := apiOnly(t)
	config.EventStream.Sinks = []cloudevents.Sink{{Name: "lake", Type: "http", URL: sink.URL}}
	server := start(t, config, nil)
	creating(t, server.url)
	return map[string]string{"one": server.url}, func() { broken.Store(true) }, func() { broken.Store(false) }
}

func streamsRefused(t *testing.T) (map[string]string, func(), func()) {
	config := apiOnly(t)
	config.Server.RequestsPerClient = 20
	server := start(t, config, nil)
	watching(t, server.url, 10)
	return map[string]string{"one": server.url}, func() { watching(t, server.url, 20) }, func() {}
}

func restarts(t *testing.T) (map[string]string, func(), func()) {
	program, err := filepath.Abs(filepath.Join(root, "bin/flyte-binary-slim"))
	require.NoError(t, err)
	config := configured(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	var broken atomic.Bool
	repeatedly(t, time.Second, func(ctx context.Context, _ int) {
		command := exec.CommandContext(ctx, program, "serve", "--target", "api", "--set", "server.listen="+address,
			"--set", "database.url="+config.Database.URL, "--set", "storage.url="+config.Storage.URL)
		command.Env = append(os.Environ(), "HOME="+t.TempDir())
		if command.Start() != nil {
			return
		}
		ended := make(chan struct{})
		go func() { _ = command.Wait(); close(ended) }()
		for began := time.Now(); ; {
			select {
			case <-ended:
				return
			case <-time.After(time.Second):
				if broken.Load() && time.Since(began) > 75*time.Second {
					_ = command.Process.Kill()
				}
			}
		}
	})
	return map[string]string{"one": "http://" + address}, func() { broken.Store(true) }, func() { broken.Store(false) }
}
