package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/flyte-binary/flyte-binary/tests/faults/connector"
	"github.com/flyte-binary/flyte-binary/tests/faults/proxy"
	"github.com/flyte-binary/flyte-binary/tests/faults/script"
	"github.com/flyte-binary/flyte-binary/tests/faults/sink"
	"github.com/flyte-binary/flyte-binary/tests/faults/vault"
)

// InternalToken lets the suite call what only services may call.
const InternalToken = "of-the-storm"

// serverConfig shortens the server's periodic checks, so that a storm of seconds shows what takes minutes elsewhere, and
// sweeps small subtrees as if they were large. No fault of the system may end an action, so the budget for them is large.
const serverConfig = `
target: %s
server: {listen: %q, shutdownGrace: 5s}
auth: {internalToken: %q}
access: {local: {enabled: true, adminPassword: %q}, sessions: {idle: 168h}}
database: {url: %q, connectTimeout: 2s}
storage: {url: %q, sync: false, publicURL: %q, signingKey: c3Rvcm0gc3Rvcm0gc3Rvcm0gc3Rvcm0gc3Rvcm0gc3Q=}
kubernetes: {kubeconfig: %q}
logging: {level: debug, format: json}
runs:
  writer: {maxSubtree: 3, retryMax: 500ms, commitTimeout: 5s}
  admission: {poll: 500ms, lease: 3s}
  assignments: {heartbeat: 1s, poll: 2s}
  watch: {heartbeat: 1s, poll: 500ms}
  artifacts: {backoff: {first: 100ms, max: 1s}, poll: 200ms, lease: 3s}
actions:
  watch: {maxSilence: 5s, maxOutage: 5s}
  taskActions: {resync: 3s, maxSilence: 5s, recreateDelay: 500ms, callTimeout: 5s, backoff: {first: 50ms, max: 1s}}
executor:
  plugins: {enabled: [pod, job, jobset, pytorch, ray], probe: 5s}
  measure: {interval: 1s, report: 2s, kubelets: true}
  pod: {endpoint: %q, insecure: true, defaultCpu: 10m, defaultMemory: 128Mi, terminationGracePeriod: 1s}
  logs: {sealTimeout: 5s}
  workers: {program: %q}
  reconciler:
    {maxSystemFailures: 40, systemBackoff: 100ms, maxSystemBackoff: 1s, statusDelay: 500ms, resync: 5s, sweep: 5s, maxErrorBackoff: 1s}
workers: {maxSilence: 5s, lease: 3s, maxSystemFailures: 40, systemBackoff: 100ms, maxSystemBackoff: 1s, keeperLease: 3s, poll: 2s, heartbeat: 1s}
connectors:
  endpoints: [{name: storm, url: %q, token: %q}]
  refresh: 500ms
  callTimeout: 2s
  minPoll: 100ms
  maxPoll: 500ms
  maxBackoff: 1s
  maxErrors: %d
  deleteFor: 1000h
  maxSystemFailures: 40
  systemBackoff: 100ms
  lease: 3s
  poll: 1s
  maxSilence: 5s
apps: {spread: [{apps: [both], clusters: 2}], drain: 500ms, startTimeout: 5m, interval: 300ms, lease: 3s, heartbeat: 1s, poll: 2s}
triggers: {poll: 500ms, retryMax: 1s, lease: 3s}
secrets:
  backends: [vault]
  vault: {address: %q, mount: %q, prefix: %q, auth: {method: token, token: %q}}
eventStream:
  sinks: [{name: storm, type: http, url: %q, events: [runs, audit]}]
  timeout: 5s
  backoff: {first: 50ms, max: 500ms}
  poll: 200ms
  lease: 3s
notifications:
  allow: [127.0.0.0/8]
  timeout: 1s
  maxTries: 1000
  backoff: {first: 100ms, max: 1s}
  poll: 200ms
  lease: 3s
  deliveries:
    - {name: failures, type: webhook, url: %q, body: %q}
    - {name: named, type: webhook, url: %q, body: %q}
    - {name: mailed, type: email, to: [people@example.com], text: %q}
  rules:
    - {name: failures, phases: [failed, timed_out], deliveries: [failures], everywhere: true}
    - {name: named, phases: [succeeded, failed, aborted, timed_out], deliveries: [named]}
    - {name: mailed, phases: [succeeded, failed, aborted, timed_out], deliveries: [mailed]}
  email: {host: 127.0.0.1, port: %d, tls: none, from: storm@example.com}
`

// The rules of the configuration: one for every run that fails, and two for runs that name them. Their deliveries have the same
// names.
const (
	FailuresRule = "failures"
	NamedRule    = "named"
)

func (s *Stack) startReceivers() (err error) {
	if s.Sink, err = sink.New(); err != nil {
		return err
	}
	secrets := map[string]string{}
	for _, tenant := range script.Tenants() {
		for _, name := range script.Secrets() {
			secrets[script.Domain+"/"+tenant.Project()+"/"+name] = tenant.SecretValue(name)
		}
	}
	s.Vault, err = vault.New(secrets)
	return err
}

func (s *Stack) prepareServer() error {
	ports, err := freePorts(2)
	if err != nil {
		return err
	}
	s.address = fmt.Sprintf("127.0.0.1:%d", ports[0])
	if s.Front, err = proxy.NewTCP(s.address); err != nil {
		return err
	}
	database, err := s.throughProxy()
	if err != nil {
		return err
	}
	kubeconfig, err := writeKubeconfig(s.Dir, "server-kubeconfig", s.API.URL())
	if err != nil {
		return err
	}
	if err := os.Link(s.Programs.Server, s.worker()); err != nil {
		return err
	}
	target, settings := "all", []string(nil)
	if s.Programs.Two {
		target, settings = "api", apiSettings()
	}
	process := func(name, target, address string) (*Process, error) {
		path := filepath.Join(s.Dir, name+".yaml")
		body := fmt.Appendf(nil, serverConfig, target, address, InternalToken, adminPassword, database, s.Storage, s.URL(), kubeconfig, s.Front.Addr(), s.worker(),
			"http://"+s.ToConnector.Addr(), connector.Token, connector.MaxErrors, s.Vault.URL(), vault.Mount, vault.Prefix, vault.Token, s.Sink.EventURL(),
			s.Sink.NoteURL(FailuresRule), sink.NoteBody, s.Sink.NoteURL(NamedRule), sink.NoteBody, sink.NoteBody, s.Sink.MailPort())
		if err := os.WriteFile(path, body, 0o600); err != nil {
			return nil, err
		}
		env := []string{"FLYTE_FAILPOINTS=" + s.failpoints(), "FLYTE_STREAMS_HANG=" + s.hang(), "FLYTE_CLOCK_OFFSET=" + s.clockOffset()}
		return newProcess(s.Dir, name, s.Programs.Server, env, append([]string{"serve", "--config", path}, settings...)...), nil
	}
	if s.Server, err = process("server", target, s.address); err != nil {
		return err
	}
	s.replica = fmt.Sprintf("127.0.0.1:%d", ports[1])
	s.Replica, err = process("replica", "api", s.replica)
	return err
}

// URL leads to the server through the proxy.
func (s *Stack) URL() string { return "http://" + s.Front.Addr() }

// ReplicaURL leads to the replica, before which there is no proxy.
func (s *Stack) ReplicaURL() string { return "http://" + s.replica }

// Direct leads to the server past the proxy.
func (s *Stack) Direct() string { return "http://" + s.address }

func (s *Stack) failpoints() string  { return filepath.Join(s.Dir, "failpoint") }
func (s *Stack) hang() string        { return filepath.Join(s.Dir, "streams-hang") }
func (s *Stack) clockOffset() string { return filepath.Join(s.Dir, "clock-offset") }

// Arm makes the server die when it passes a point for the nth time from now.
func (s *Stack) Arm(point string, turn int) error {
	return os.WriteFile(s.failpoints(), fmt.Appendf(nil, "%s %d", point, turn), 0o600)
}

// Armed reports whether what was armed has not struck yet.
func (s *Stack) Armed() bool {
	_, err := os.Stat(s.failpoints())
	return err == nil
}

// Disarm undoes Arm.
func (s *Stack) Disarm() error {
	err := os.Remove(s.failpoints())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// Hang makes each stream of the servers hang as soon as it has something to send, those between services of one process
// among them. The connections stay open. Streams that hang do so until their clients leave, also after Hang(false).
func (s *Stack) Hang(on bool) error {
	if on {
		return os.WriteFile(s.hang(), nil, 0o600)
	}
	err := os.Remove(s.hang())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// Ready asks the server whether everything that it depends on works.
func (s *Stack) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Direct()+"/readyz", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, body)
	}
	return err
}
