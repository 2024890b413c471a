package worker

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	workerv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1/workerv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
)

const patience = 90 * time.Second

// service is a small WorkerService with one worker.
type service struct {
	t testing.TB

	mu      sync.Mutex
	stream  func(*workerv1.WorkResponse)   // GUARDED_BY(mu): sends on the newest stream; nil without one
	hang    func()                         // GUARDED_BY(mu): breaks the newest stream
	mute    bool                           // GUARDED_BY(mu): answers nothing
	refuse  error                          // GUARDED_BY(mu): the answer to new streams
	lease   time.Duration                  // GUARDED_BY(mu)
	keep    bool                           // GUARDED_BY(mu): does not acknowledge ends
	state   *workerv1.Heartbeat            // GUARDED_BY(mu)
	hellos  []*workerv1.Hello              // GUARDED_BY(mu)
	ends    map[int64][]*workerv1.Ended    // GUARDED_BY(mu): all that were reported
	started map[int64]int                  // GUARDED_BY(mu)
	given   map[int64]*workerv1.Assignment // GUARDED_BY(mu)
}

// Work implements WorkerService.
func (s *service) Work(ctx context.Context, stream *connect.BidiStream[workerv1.WorkRequest, workerv1.WorkResponse]) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	refuse := s.refuse
	s.mu.Unlock()
	if refuse != nil {
		return refuse
	}
	if token := stream.RequestHeader().Get("Authorization"); token != "Bearer secret" {
		return connect.NewError(connect.CodeUnauthenticated, fmt.Errorf("token %q", token))
	}
	var sending sync.Mutex
	send := func(m *workerv1.WorkResponse) {
		sending.Lock()
		defer sending.Unlock()
		if ctx.Err() == nil {
			_ = stream.Send(m)
		}
	}
	received := make(chan error, 1)
	go func() {
		for {
			m, err := stream.Receive()
			if err != nil {
				received <- err
				return
			}
			s.take(m, send, cancel)
		}
	}()
	select {
	case err := <-received:
		return err
	case <-ctx.Done():
		sending.Lock() // nothing is sent after the end
		return connect.NewError(connect.CodeUnavailable, ctx.Err())
	}
}

func (s *service) take(m *workerv1.WorkRequest, send func(*workerv1.WorkResponse), cancel func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := m.GetHeartbeat()
	if hello := m.GetHello(); hello != nil {
		s.hellos = append(s.hellos, hello)
		s.stream, s.hang, state = send, cancel, hello.GetState()
	}
	s.state = state
	if s.mute {
		return
	}
	send(lease(s.lease))
	var ids []id
	for _, ended := range state.GetEnded() {
		one := ended.GetId().GetUid()
		s.ends[one] = append(s.ends[one], ended)
		ids = append(ids, idOf(ended.GetId()))
	}
	if len(ids) > 0 && !s.keep {
		send(acknowledged(ids...))
	}
}

// change changes the service.
func (s *service) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// until waits for a condition.
func (s *service) until(what string, condition func() bool) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return condition()
	}, patience, time.Millisecond, what)
}

// fixture is a worker with a real Python environment, an object store and a server.
type fixture struct {
	*service
	root   string // of the object store
	dir    string // the working directory of attempts
	worker *Worker
	stop   context.CancelFunc // asks the worker to end
	done   chan error
	server *httptest.Server
}

// sdk is the directory of a Python environment with the released SDK.
func sdk(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs("../../.cache/e2e-python/bin")
	require.NoError(t, err)
	if _, err := os.Stat(filepath.Join(dir, "a0")); err != nil {
		t.Skip("no Python environment with the SDK: run `make e2e-python` first")
	}
	return dir
}

func newFixture(t testing.TB, change ...func(*Config)) *fixture {
	t.Helper()
	return newLeased(t, time.Minute, change...)
}

// newLeased is a fixture with leases of some length.
func newLeased(t testing.TB, lasts time.Duration, change ...func(*Config)) *fixture {
	t.Helper()
	f, cfg := newServer(t, lasts, change...)
	store, err := blobstore.Open(t.Context(), blobstore.Config{URL: f.root, Timeout: time.Minute})
	require.NoError(t, err)
	f.worker, err = New(cfg, store, zerolog.New(zerolog.NewTestWriter(t)))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	f.stop = cancel
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.done <- f.worker.Run(ctx)
	}()
	t.Cleanup(func() {
		f.change(func() { f.refuse = connect.NewError(connect.CodeNotFound, fmt.Errorf("the test is over")) })
		f.hangUp()
		cancel()
		select {
		case <-ended:
		case <-time.After(patience):
			t.Error("the worker does not end")
		}
		_ = store.Close()
	})
	f.until("the first message", func() bool { return f.stream != nil })
	return f
}

// newServer is a fixture without a worker, and what one must know.
func newServer(t testing.TB, lasts time.Duration, change ...func(*Config)) (*fixture, Config) {
	t.Helper()
	bin := sdk(t)
	root, err := os.MkdirTemp("", "worker-") // test names may have characters that URLs may not
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	f := &fixture{root: root, dir: t.TempDir(), done: make(chan error, 1)}
	f.service = &service{
		t: t, lease: lasts, ends: map[int64][]*workerv1.Ended{}, started: map[int64]int{}, given: map[int64]*workerv1.Assignment{},
	}
	mux := http.NewServeMux()
	mux.Handle(workerv1connect.NewWorkerServiceHandler(f.service))
	f.server = httptest.NewUnstartedServer(mux)
	f.server.Config.Protocols = new(http.Protocols)
	f.server.Config.Protocols.SetUnencryptedHTTP2(true)
	f.server.Start()
	cfg := Config{
		ID: "w1", Token: "secret", Endpoint: f.server.URL, Concurrency: 1, Grace: 20 * time.Second, Dir: f.dir, Scratch: t.TempDir(),
		Version: "test", Environ: []string{
			"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "FLYTE_DISABLE_SENTRY=1", "PYTHONUNBUFFERED=1",
			"_U_EP_OVERRIDE=localhost:1", "_U_ORG_NAME=o", "FLYTE_INTERNAL_EXECUTION_PROJECT=p", "FLYTE_INTERNAL_EXECUTION_DOMAIN=d",
			"_U_RUN_BASE=" + root + "/run",
		},
	}
	for _, c := range change {
		c(&cfg)
	}
	t.Cleanup(func() {
		f.server.CloseClientConnections()
		f.server.Close()
	})
	return f, cfg
}

func (f *fixture) hangUp() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hang != nil {
		f.hang()
		f.stream, f.hang = nil, nil
	}
}

// bundle makes a code bundle with a module.
func (f *fixture) bundle(name, code string) string {
	f.t.Helper()
	dir := f.t.TempDir()
	require.NoError(f.t, os.WriteFile(filepath.Join(dir, name+".py"), []byte(code), 0o600))
	path := filepath.Join(f.root, "code-"+filepath.Base(filepath.Dir(dir))+strconv.Itoa(len(f.given))+".tgz")
	out, err := exec.Command("tar", "-C", dir, "-czf", path, name+".py").CombinedOutput()
	require.NoError(f.t, err, string(out))
	return path
}

// attemptDir is where an attempt writes its outputs.
func (f *fixture) attemptDir(uid int64) string { return fmt.Sprintf("%s/run/a%d/1", f.root, uid) }

// assign gives an attempt of a task to the worker.
func (f *fixture) assign(uid int64, bundle, module, name string, change ...func(*workerv1.Assignment)) {
	f.t.Helper()
	at, action := f.attemptDir(uid), fmt.Sprintf("a%d", uid)
	require.NoError(f.t, os.MkdirAll(at, 0o700))
	a := &workerv1.Assignment{
		Id: id{uid, 1}.proto(), LogUri: at + "/_logs/primary.log",
		Args: []string{
			"a0", "--inputs", f.root + "/inputs.pb", "--outputs-path", at, "--version", "v", "--raw-data-path", at + "/raw",
			"--checkpoint-path", at + "/cp", "--prev-checkpoint", "", "--run-name", "run", "--name", action,
			"--tgz", bundle, "--dest", ".", "--resolver", "flyte._internal.resolvers.default.DefaultTaskResolver",
			"mod", module, "instance", name,
		},
		Env: map[string]string{"ACTION_NAME": action, "RUN_NAME": "run"},
	}
	for _, c := range change {
		c(a)
	}
	require.NoError(f.t, os.WriteFile(f.root+"/inputs.pb", nil, 0o600))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.given[uid] = a
	f.stream(&workerv1.WorkResponse{Message: &workerv1.WorkResponse_Assignment{Assignment: a}})
}

// give repeats the assignment of an attempt.
func (f *fixture) give(uid int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stream(&workerv1.WorkResponse{Message: &workerv1.WorkResponse_Assignment{Assignment: f.given[uid]}})
}

func (f *fixture) sendStop(uid int64, grace time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	stop := &workerv1.Stop{Id: id{uid, 1}.proto(), Grace: durationpb.New(grace)}
	f.stream(&workerv1.WorkResponse{Message: &workerv1.WorkResponse_Stop{Stop: stop}})
}

// ended waits for the end of an attempt.
func (f *fixture) ended(uid int64) *workerv1.Ended {
	f.t.Helper()
	f.until(fmt.Sprintf("the end of %d: %s", uid, f.log(uid)), func() bool { return len(f.ends[uid]) > 0 })
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ends[uid][0]
}

// running waits until an attempt runs.
func (f *fixture) running(uid int64) {
	f.t.Helper()
	f.until("the start", func() bool {
		return slices.ContainsFunc(f.state.GetRunning(), func(r *workerv1.Running) bool {
			return r.GetId().GetUid() == uid && r.GetStartedAt() != nil
		})
	})
}

// says waits until the task has written a file into its attempt's directory, and returns its text.
func (f *fixture) says(uid int64, name string) string {
	f.t.Helper()
	var text []byte
	require.Eventually(f.t, func() bool {
		var err error
		text, err = os.ReadFile(f.attemptDir(uid) + "/" + name)
		return err == nil && len(text) > 0
	}, patience, time.Millisecond, "no file %s of %d", name, uid)
	return string(text)
}

func (f *fixture) log(uid int64) string {
	text, _ := os.ReadFile(f.attemptDir(uid) + "/_logs/primary.log")
	return string(text)
}

// outputs are the literals of outputs.pb; nil if there is none.
func (f *fixture) outputs(uid int64) map[string]string {
	f.t.Helper()
	body, err := os.ReadFile(f.attemptDir(uid) + "/outputs.pb")
	if err != nil {
		return nil
	}
	outputs := &task.Outputs{}
	require.NoError(f.t, proto.Unmarshal(body, outputs))
	found := map[string]string{}
	for _, literal := range outputs.GetLiterals() {
		found[literal.GetName()] = literal.GetValue().GetScalar().GetPrimitive().GetStringValue()
	}
	return found
}

func (f *fixture) taskError(uid int64) *core.ContainerError {
	f.t.Helper()
	body, err := os.ReadFile(f.attemptDir(uid) + "/error.pb")
	require.NoError(f.t, err)
	document := &core.ErrorDocument{}
	require.NoError(f.t, proto.Unmarshal(body, document))
	return document.GetError()
}

// alive reports whether a process of a number that a task has written lives.
func alive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := cutLast(string(stat), ") ")
	return rest[0] != 'Z'
}

func cutLast(text, mark string) (before, after string, found bool) {
	for i := len(text) - len(mark); i >= 0; i-- {
		if text[i:i+len(mark)] == mark {
			return text[:i], text[i+len(mark):], true
		}
	}
	return text, "", false
}

func (f *fixture) seen() []int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.ends))
}

func (f *fixture) touch(uid int64, name string) {
	f.t.Helper()
	require.NoError(f.t, os.WriteFile(f.attemptDir(uid)+"/"+name, nil, 0o600))
}
