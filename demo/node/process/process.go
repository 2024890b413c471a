package process

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/demo/node/shim"
)

// Process is one run of one container.
type Process struct {
	id      string
	dir     string
	started chan struct{}
	done    chan struct{}

	mu      sync.Mutex
	control *os.File   // GUARDED_BY(mu): takes commands, nil when the shim is gone
	state   shim.State // GUARDED_BY(mu)
	stops   int        // GUARDED_BY(mu): how often the shim was found stopped
}

func newProcess(id, dir string, control *os.File) *Process {
	return &Process{
		id: id, dir: dir, control: control, started: make(chan struct{}), done: make(chan struct{}),
		state: shim.State{ID: id, Phase: shim.Starting},
	}
}

// Started is closed when the process runs, or when it ended without having been seen to run.
func (p *Process) Started() <-chan struct{} { return p.started }

// Done is closed when the process and everything it started are gone and its log is complete.
func (p *Process) Done() <-chan struct{} { return p.done }

// State is what is known now. After Done its phase is Exited, or something else when the shim was killed: then how
// the process ended is unknown, and what it left behind has been killed.
func (p *Process) State() shim.State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

// Dir holds the log.
func (p *Process) Dir() string { return p.dir }

// Terminate asks the process group to end.
func (p *Process) Terminate() { p.wish(shim.Terminate) }

// Kill ends every process of the container.
func (p *Process) Kill() { p.wish(shim.Kill) }

func (p *Process) wish(wish byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.control != nil {
		_, _ = p.control.Write([]byte{wish}) // a shim that is ending ignores commands
	}
}

// follow sends the shim its spec and reads its reports until it ends.
func (p *Process) follow(b *begun, report *os.File, spec []byte) {
	_, _ = b.feed.Write(spec) // a shim that died early shows as the end of the report
	_ = b.feed.Close()
	lines := bufio.NewScanner(report)
	for lines.Scan() {
		var state shim.State
		if json.Unmarshal(lines.Bytes(), &state) == nil {
			p.observe(state)
			b.tell(state)
		}
	}
	_ = report.Close()
	b.tell(p.State())
	if b.cmd != nil {
		_ = b.cmd.Wait()
	}
	p.conclude()
}

func (p *Process) observe(state shim.State) {
	p.mu.Lock()
	p.state = state
	p.mu.Unlock()
	if state.Phase == shim.Running {
		close(p.started)
	}
}

// conclude runs when the shim is gone.
func (p *Process) conclude() {
	p.mu.Lock()
	if p.control != nil {
		_ = p.control.Close()
		p.control = nil
	}
	if p.state.Phase != shim.Exited {
		if state, err := shim.ReadState(filepath.Join(p.dir, stateFile)); err == nil {
			p.state = state
		}
	}
	state := p.state
	p.mu.Unlock()
	if state.Phase != shim.Exited {
		killLeftovers(p.id, state.PID)
	}
	removeCgroup(state.Cgroup)
	select {
	case <-p.started:
	default:
		close(p.started)
	}
	close(p.done)
}

// attachInterval is how often the lock of a container that an earlier node started is tried. Its end is then known at
// most this much later.
const attachInterval = 50 * time.Millisecond
