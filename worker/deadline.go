package worker

import "time"

// Deadline ends this process at a time, even if the process is stopped then.
type Deadline interface {
	// Set sets the time from now, in place of the one before.
	Set(in time.Duration) error
	// Clear removes the time.
	Clear() error
}

// guard keeps the deadline at the end of the lease while there is work. The worker ends all work before that if it can; if it is
// stopped, the kernel ends it, and its attempts end with it. Called with the lock held.
func (w *Worker) guard() {
	if w.cfg.Deadline == nil {
		return
	}
	var until time.Duration
	if len(w.attempts) > 0 {
		until = w.session.ends
	}
	if until == w.guarded {
		return
	}
	w.guarded = until
	var err error
	if until == 0 {
		err = w.cfg.Deadline.Clear()
	} else {
		err = w.cfg.Deadline.Set(until - w.now())
	}
	if err != nil {
		w.log.Warn().Err(err).Msg("cannot set the time at which the kernel ends this worker")
	}
}
