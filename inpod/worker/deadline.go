package worker

import "time"

// Deadline ends this process at a time, even if the process is stopped then.
type Deadline interface {
	// Set sets the time from now, in place of the one before.
	Set(in time.Duration) error
	// Clear removes the time.
	Clear() error
}

// guard sets the deadline to the end of the lease while there is work. A healthy worker kills its attempts before that. If it is
// stopped, the kernel kills it, and its attempts die with it. Called with the lock held.
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
		w.log.Warn().Err(err).Msg("cannot set the kernel timer that kills this worker when its lease expires")
	}
}
