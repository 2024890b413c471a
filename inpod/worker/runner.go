package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/attempts"
)

// pause is how long a Python environment that cannot be forked from is left alone. Loading it takes seconds, which each
// attempt in this time would lose before it starts cold.
const pause = time.Minute

// command is what an attempt runs.
type command struct {
	args []string
	env  map[string]string // complete
}

// exit is how a process ended. With lost set no one knows.
type exit struct {
	code   int
	signal syscall.Signal
	lost   string
	crowd  bool // several attempts shared the process
}

// process is a running attempt.
type process interface {
	// warm reports whether the process was forked from one that had the environment loaded.
	warm() bool
	// slow says why the process had to load what others find loaded: the code, or the environment as well. It is empty if nothing was
	// left to load.
	slow() string
	// wait waits for the end. It is called once.
	wait() exit
	// interrupt asks the attempt to end.
	interrupt()
	// kill ends the attempt, and those that share its processes.
	kill()
	// release ends what the attempt has left behind. It is called once, after wait.
	release()
}

// runner starts the processes of attempts, each in the fastest way that is safe.
type runner struct {
	program string // runner.py
	scratch string
	env     map[string]string
	place   *place
	alone   bool // one attempt at a time
	log     zerolog.Logger

	mu     sync.Mutex
	base   *server
	failed time.Time // when the base could not be started
	loaded *loaded
	code   string              // the bundle that place has
	unfit  map[string]string   // why bundles are not loaded before a fork
	shared map[string]*sharing // by bundle

	pids   sync.Mutex
	own    map[int]struct{} // GUARDED_BY(pids): children of this process that are waited for
	active int              // GUARDED_BY(pids): attempts
}

// loaded is a server that has a task's code.
type loaded struct {
	*server
	bundle string
}

// newRunner writes the Python programs and remembers the working directory. It starts no process.
func newRunner(cfg Config, log zerolog.Logger) (*runner, error) {
	program, err := writePrograms(cfg.Scratch)
	if err != nil {
		return nil, err
	}
	where, err := newPlace(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("read the working directory: %w", err)
	}
	return &runner{
		program: program, scratch: cfg.Scratch, env: table(cfg.Environ), place: where, alone: cfg.Concurrency == 1, log: log,
		unfit: map[string]string{}, shared: map[string]*sharing{}, own: map[int]struct{}{},
	}, nil
}

// prepare starts the server that imports the SDK before there is an attempt. A failure is only logged.
func (r *runner) prepare(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	script, err := r.find("a0")
	if err == nil && canFork {
		_, err = r.startBase(ctx, script)
	}
	if err != nil {
		r.log.Warn().Err(err).Msg("attempts start cold")
	}
}

// start starts an attempt. Its output goes to the file. The end of the context ends the preparation.
func (r *runner) start(ctx context.Context, c command, output *os.File) (process, error) {
	r.count(1)
	p, err := r.choose(ctx, c, output)
	if err != nil {
		r.count(-1)
	}
	return p, err
}

// choose starts the attempt warm where that is safe, else cold. Preparations of several attempts wait for each other:
// they share the servers and the directory. The attempts themselves do not.
func (r *runner) choose(ctx context.Context, c command, output *os.File) (process, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// Only then does no other attempt use the directory.
	if r.alone {
		if whole, err := r.place.restore(); err != nil {
			return nil, fmt.Errorf("restore the working directory: %w", err)
		} else if !whole {
			r.unload()
		}
	}
	p, err := r.warm(ctx, c, output)
	if err == nil {
		return p, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	r.log.Warn().Err(err).Strs("args", c.args[:min(1, len(c.args))]).Msg("an attempt starts cold")
	return r.cold(c, output, err.Error())
}

// warm starts an attempt in a process that has the SDK: in the one that has its code as well, where that is safe, else
// in the base. An error says why it cannot be warm; the caller starts it cold. Variables are compared because imports
// read them: an attempt with other values would see what another process had read.
func (r *runner) warm(ctx context.Context, c command, output *os.File) (process, error) {
	if !canFork {
		return nil, errors.New("attempts are forked on Linux only")
	}
	if len(c.args) == 0 || filepath.Base(c.args[0]) != "a0" {
		return nil, errors.New("the command is not the SDK's a0")
	}
	script, err := r.find(c.args[0])
	if err != nil {
		return nil, err
	}
	if name := differing(r.env, c.env); name != "" {
		return nil, fmt.Errorf("%s counts when an interpreter starts, and differs from the worker's", name)
	}
	base, err := r.startBase(ctx, script)
	if err != nil {
		return nil, err
	}
	if name := base.differs(c.env, false); name != "" {
		return nil, fmt.Errorf("the SDK reads %s when it is imported, and the worker has another value", name)
	}
	if !r.alone {
		if c.env[attempts.TokenVariable] != "" {
			return r.apart(ctx, base, c, output)
		}
		return r.share(ctx, base, c, output)
	}
	l, because := r.load(ctx, base, c)
	if l != nil {
		because = l.reads(c)
	}
	if because == "" {
		p, err := r.fork(ctx, l.server, c, output, "")
		if err == nil || ctx.Err() != nil {
			return p, err
		}
		r.log.Warn().Err(err).Msg("forking an attempt from the process with its code failed; using the base process")
		// Not tried again with this code: what failed once would cost each attempt the same time.
		because = err.Error()
		r.unfit[l.bundle] = because
		r.unload()
	}
	p, err := r.fork(ctx, base, c, output, because)
	if refused := (*refusal)(nil); err != nil && !errors.As(err, &refused) {
		r.dropBase()
	}
	return p, err
}

// fork forks an attempt from a server and waits until it is the process that it should be. because says why the server is not the one that
// has its code.
func (r *runner) fork(ctx context.Context, s *server, c command, output *os.File, because string) (process, error) {
	f, err := s.fork(ctx, startLimit, request{Do: "run", Dir: r.place.dir, Args: c.args, Env: c.env}, output)
	if err != nil {
		return nil, err
	}
	return &forkedAttempt{runner: r, forked: f, because: because}, nil
}

// apart forks an attempt that runs at the same time as others and must not share its process with them: each calls the server with a
// token of its own, and a process has one connection. Its code gets a directory of its own, as in startSharing.
func (r *runner) apart(ctx context.Context, base *server, c command, output *os.File) (process, error) {
	what, bundle := request{Do: "run", Dir: r.place.dir, Args: c.args, Env: c.env}, bundleOf(c.args)
	own := ""
	if bundle.tgz != "" || bundle.pkl != "" {
		dir, err := os.MkdirTemp(r.scratch, "code-")
		if err != nil {
			return nil, fmt.Errorf("make a directory for the code of an attempt: %w", err)
		}
		what.Dir, own = dir, dir
	}
	f, err := base.fork(ctx, startLimit, what, output)
	if err != nil {
		_ = os.RemoveAll(own)
		return nil, err
	}
	return &apartAttempt{process: &forkedAttempt{runner: r, forked: f}, dir: own}, nil
}

// apartAttempt is an attempt with a directory of its own; empty if it has none.
type apartAttempt struct {
	process
	dir string
}

func (a *apartAttempt) release() {
	a.process.release()
	_ = os.RemoveAll(a.dir)
}

// startBase is the server with the SDK. A failure is remembered for a while.
func (r *runner) startBase(ctx context.Context, script string) (*server, error) {
	if r.base != nil {
		select {
		case <-r.base.control.gone:
			r.dropBase()
		default:
			return r.base, nil
		}
	}
	if time.Since(r.failed) < pause {
		return nil, errors.New("the Python environment could not be loaded before")
	}
	began, pid := time.Now(), 0
	base, err := startBase(ctx, r.program, script, r.env, os.Stderr, func(started int) {
		pid = started
		r.owns(pid, true)
	})
	if err != nil {
		if ctx.Err() == nil {
			r.failed = time.Now()
		}
		return nil, fmt.Errorf("load the Python environment: %w", err)
	}
	r.log.Info().Dur("took", time.Since(began)).Int("pid", pid).Str("script", script).Msg("Python environment loaded")
	r.base = base
	return base, nil
}

// dropBase ends the base, and with it the loaded server, which was forked from it.
func (r *runner) dropBase() {
	r.unload()
	if r.base != nil {
		r.base.kill()
		r.base = nil
	}
}

// load is the server that has the code of an attempt, or says why the code is not loaded before a fork.
func (r *runner) load(ctx context.Context, base *server, c command) (*loaded, string) {
	bundle := bundleOf(c.args)
	if r.loaded != nil {
		select {
		case <-r.loaded.control.gone:
			r.unload()
		default:
		}
	}
	// Other code: nothing of the code before may be left in the directory.
	if r.code != bundle.key() {
		r.unload()
		r.place.bundle, r.code = nil, bundle.key()
		if _, err := r.place.restore(); err != nil {
			return nil, err.Error()
		}
	}
	if r.loaded != nil {
		return r.loaded, ""
	}
	if why, unfit := r.unfit[bundle.key()]; unfit {
		return nil, why
	}
	if !bundle.loadable() {
		return nil, "its code is a pickle, which each attempt reads"
	}
	l, err := r.tryLoad(ctx, base, c, bundle)
	if err != nil {
		if ctx.Err() == nil {
			r.unfit[bundle.key()] = err.Error()
			r.log.Warn().Err(err).Str("bundle", bundle.tgz).Msg("preloading code failed; each attempt loads it")
		}
		return nil, err.Error()
	}
	r.loaded = l
	return l, ""
}

// tryLoad downloads the code of a bundle in a process of its own, and has a server import it. The directory is
// remembered after each step, since an import may write files, such as compiled modules.
func (r *runner) tryLoad(ctx context.Context, base *server, c command, bundle bundle) (*loaded, error) {
	what := request{Dir: r.place.dir, Args: c.args, Env: c.env}
	if bundle.tgz != "" {
		what.Do = "fetch"
		f, err := base.fork(ctx, startLimit, what)
		if err != nil {
			return nil, fmt.Errorf("download the code: %w", err)
		}
		stop := context.AfterFunc(ctx, func() { f.signal(syscall.SIGKILL) })
		end, err := f.wait()
		stop()
		f.reap()
		if err != nil || !end.Exited || end.Code != 0 {
			return nil, errors.Join(errors.New("the code could not be downloaded"), err)
		}
		if err := r.place.keep(); err != nil {
			return nil, err
		}
	}
	what.Do = "load"
	s, err := base.serve(ctx, what)
	if err != nil {
		return nil, fmt.Errorf("load the code: %w", err)
	}
	if err := s.awaitReady(ctx, startLimit); err != nil {
		s.kill()
		return nil, err
	}
	if err := r.place.keep(); err != nil {
		s.kill()
		return nil, err
	}
	return &loaded{s, bundle.key()}, nil
}

func (r *runner) unload() {
	if r.loaded != nil {
		r.loaded.kill()
		r.loaded = nil
	}
}

// find is the path of a program.
func (r *runner) find(name string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, dir := range filepath.SplitList(r.env["PATH"]) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no %s on PATH: the image must have the Flyte SDK", name)
}

// cold starts an attempt as a process of its own.
func (r *runner) cold(c command, output *os.File, because string) (process, error) {
	if len(c.args) == 0 {
		return nil, errors.New("the assignment has no command")
	}
	path, err := r.find(c.args[0])
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{Path: path, Args: c.args, Env: list(c.env), Dir: r.place.dir, Stdout: output, Stderr: output}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.args[0], err)
	}
	if neverExecuted(cmd.Process.Pid) {
		return nil, fmt.Errorf("start %s: it ended before it ran: %w", c.args[0], cmd.Wait())
	}
	r.owns(cmd.Process.Pid, true)
	return &coldAttempt{runner: r, cmd: cmd, because: because}, nil
}

// stop ends all processes.
func (r *runner) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.shared {
		one.kill()
	}
	r.dropBase()
	r.pids.Lock()
	defer r.pids.Unlock()
	killOrphans(func(int) bool { return false })
	r.place.bundle = nil
	_, _ = r.place.restore()
}

// owns records whether a child of this process is waited for somewhere. Others are orphans of attempts.
func (r *runner) owns(pid int, is bool) {
	r.pids.Lock()
	defer r.pids.Unlock()
	if is {
		r.own[pid] = struct{}{}
	} else {
		delete(r.own, pid)
	}
}

// count changes the number of attempts. An attempt counts from before its process is there, so that no orphan sweep
// takes that process for a leftover.
func (r *runner) count(n int) {
	r.pids.Lock()
	defer r.pids.Unlock()
	r.active += n
}

// released is called when an attempt is over. Processes that have left it are ended when there is no other attempt that they
// may belong to.
func (r *runner) released() {
	r.pids.Lock()
	defer r.pids.Unlock()
	if r.active--; r.active == 0 {
		killOrphans(func(pid int) bool { _, own := r.own[pid]; return own })
	}
}

// bundle is where a command line has its code from.
type bundle struct{ tgz, pkl, dest, resolver string }

func (b bundle) key() string { return strings.Join([]string{b.tgz, b.pkl, b.dest, b.resolver}, "\x00") }

// loadable reports whether the code can be loaded before the attempts. A pickled one has no modules to load, and one that goes
// elsewhere than into the working directory would stay there.
func (b bundle) loadable() bool {
	return b.resolver != "" && b.pkl == "" && (b.tgz == "" || b.dest == "." || b.dest == "")
}

// bundleOf reads the options of a command line of the SDK's entry point, in both forms: --tgz X and --tgz=X.
func bundleOf(args []string) bundle {
	value := func(option string) string {
		for i, arg := range args {
			if arg == option && i+1 < len(args) {
				return args[i+1]
			}
			if text, found := strings.CutPrefix(arg, option+"="); found {
				return text
			}
		}
		return ""
	}
	return bundle{value("--tgz"), value("--pkl"), value("--dest"), value("--resolver")}
}

// counts are beginnings of variables that count when an interpreter starts or a library is loaded. Code in C reads them, so
// their reads cannot be recorded.
var counts = []string{ //nolint:gochecknoglobals // a table
	"PYTHON", "_PYTHON", "VIRTUAL_ENV", "PATH", "HOME", "LANG", "LC_", "TZ", "LD_", "MALLOC_", "GLIBC_TUNABLES", "OMP_", "OPENBLAS_",
	"MKL_", "BLIS_", "NUMEXPR_", "KMP_", "ARROW_", "RAYON_", "TOKIO_", "CUDA_", "NVIDIA_", "ROCR_", "HIP_", "OPENSSL_", "SSL_",
	"RUST_", "PROTOCOL_BUFFERS_", "COVERAGE_", "COV_CORE_", "LOG_LEVEL", "LOG_FORMAT", "USER_LOG_LEVEL", "FSSPEC_",
}

// differing names a variable that counts and has another value in the one than in the other.
func differing(one, other map[string]string) string {
	for _, table := range []map[string]string{one, other} {
		for name := range table {
			counting := slices.ContainsFunc(counts, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
			if counting && one[name] != other[name] {
				return name
			}
		}
	}
	return ""
}
