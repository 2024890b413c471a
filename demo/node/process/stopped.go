package process

import (
	"path/filepath"
	"syscall"
	"time"

	"github.com/flyte-binary/flyte-binary/demo/node/shim"
)

const (
	// stoppedInterval is how often it is looked whether a shim is stopped.
	stoppedInterval = time.Second
	// patience is how often a stopped shim is continued. A container whose shim is stopped again is ended.
	patience = 2
)

// guard keeps the shim going until the process is done. A shim that is stopped by a signal, as a container can do that runs as the
// same user, enforces no limit and reports no end.
func (p *Process) guard() {
	ticker := time.NewTicker(stoppedInterval)
	defer ticker.Stop()
	for {
		select {
		case <-p.done:
			return
		case <-ticker.C:
		}
		state := p.State()
		if state.ShimPID == 0 { // it has written its id, and was stopped before it reported
			state, _ = shim.ReadState(filepath.Join(p.dir, stateFile))
		}
		if state.ShimPID == 0 || !stopped(state.ShimPID) {
			continue
		}
		p.mu.Lock()
		p.stops++
		end := p.stops > patience
		p.mu.Unlock()
		if end { // by us: the shim might be stopped again before it could
			if state.PID > 0 {
				_ = syscall.Kill(-state.PID, syscall.SIGKILL)
			}
			for _, pid := range shim.Descendants(state.ShimPID) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		_ = syscall.Kill(state.ShimPID, syscall.SIGCONT)
	}
}

// Stops is how often the shim was found stopped by a signal, and whether the container was ended for that.
func (p *Process) Stops() (times int, ended bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stops, p.stops > patience
}
