package supervise

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// Patience says how long a program may take. What counts is progress: a busy machine makes every program slow, and only
// one that stands still is stuck. A program makes progress when it writes output, uses the processor for more than an
// idle program does, or waits for a disk.
type Patience struct {
	// Silence is how long it may make no progress. Where the system does not tell what other processes do, only Total
	// counts. 0 means 2 minutes.
	Silence time.Duration
	// Total bounds the whole wait. 0 means 15 minutes.
	Total time.Duration
	// Waiting, where set, is called every few seconds with what it waits for, such as "postgres for 20s: the database system
	// is starting up".
	Waiting func(text string)
}

const (
	defaultSilence = 2 * time.Minute
	defaultTotal   = 15 * time.Minute
	// progressInterval is how often progress is looked for.
	progressInterval = time.Second
	// tellInterval is how often Waiting is called.
	tellInterval = 5 * time.Second
	// longestStep is the most that counts of the time between two looks: the machine may have slept.
	longestStep = 15 * time.Second
	// idleShare is the part of one processor, as a divisor, that a program may use without making progress: idle ones
	// have timers, and to be asked whether it is ready costs something too.
	idleShare = 50
	// longestPause bounds the pause between two questions, which grows.
	longestPause = time.Second
)

// ErrStuck says that a program made no progress, or too little.
var ErrStuck = errors.New("no progress")

// wait is one wait for a program.
type wait struct {
	process  *Process
	patience Patience
	clock    clock.Clock

	looked, told   time.Time
	output         int64
	activity       activity
	total, silence time.Duration // waited, and waited since the last progress
}

// activity is what the system knows about a program and everything that it has started.
type activity struct {
	cpu      time.Duration // processor time used
	diskWait bool          // some process waits for a disk
}

func newWait(p *Process, clk clock.Clock, patience Patience) *wait {
	if patience.Silence == 0 {
		patience.Silence = defaultSilence
	}
	if patience.Total == 0 {
		patience.Total = defaultTotal
	}
	now := clk.Now()
	return &wait{process: p, patience: patience, clock: clk, looked: now, told: now}
}

// look judges the program, at most once in a while, and returns why it is given up; nil to wait on. said is why it is
// not ready.
func (w *wait) look(said string) error {
	now := w.clock.Now()
	if now.Sub(w.looked) < progressInterval {
		return nil
	}
	step := min(now.Sub(w.looked), longestStep)
	w.looked = now
	w.total += step
	w.silence += step
	output := w.process.output()
	current, known := w.process.activity()
	if !known || output != w.output || current.diskWait || current.cpu-w.activity.cpu > step/idleShare {
		w.silence = 0
	}
	w.output, w.activity = output, current
	if now.Sub(w.told) >= tellInterval && w.patience.Waiting != nil {
		w.told = now
		w.patience.Waiting(w.text(said))
	}
	switch {
	case w.silence >= w.patience.Silence:
		return fmt.Errorf("%w for %s: neither output nor work", ErrStuck, w.silence.Round(time.Second))
	case w.total >= w.patience.Total:
		return fmt.Errorf("%w that would have ended within %s", ErrStuck, w.patience.Total)
	}
	return nil
}

// pause is the pause before the next question; it grows with the wait, which it makes longer by a fiftieth at most.
func (w *wait) pause(least time.Duration) time.Duration {
	return max(least, min(longestPause, w.total/50))
}

// text is what is waited for.
func (w *wait) text(said string) string {
	text := fmt.Sprintf("%s for %s", w.process.spec.Name, w.total.Round(time.Second))
	if said == "" {
		said = w.process.lastLine()
	}
	if said != "" {
		text += ": " + said
	}
	return text
}

// lastLine is the last line that the program wrote.
func (p *Process) lastLine() string {
	text := strings.TrimSpace(p.outputTail())
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// AwaitReady calls ready, with pauses of at least the given length, until it returns nil. It fails when the program ends, when patience ends, or when
// the context does; the error then has the last failure and the end of the program's output. The context of ready ends
// with the program.
func (p *Process) AwaitReady(
	ctx context.Context, clk clock.Clock, patience Patience, pause time.Duration, ready func(context.Context) error,
) error {
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-p.done:
			cancel()
		case <-asking.Done():
		}
	}()
	w := newWait(p, clk, patience)
	for {
		err := ready(asking)
		if err == nil {
			return nil
		}
		stuck := w.look(err.Error())
		if stuck == nil && clock.Sleep(asking, clk, w.pause(pause)) == nil {
			continue
		}
		switch {
		case !p.Alive():
			return fmt.Errorf("%s ended before it was ready (%w)%s", p.spec.Name, p.Err(), p.lastOutput())
		case stuck != nil:
			return fmt.Errorf("%s is not ready: %w: %w%s", p.spec.Name, stuck, err, p.lastOutput())
		case ctx.Err() != nil:
			return fmt.Errorf("%s is not ready: %w%s", p.spec.Name, errors.Join(context.Cause(ctx), err), p.lastOutput())
		}
	}
}

// Run starts a program and waits for its end. The end of the context or of patience kills it.
func Run(ctx context.Context, clk clock.Clock, patience Patience, spec Spec) error {
	p, err := Start(spec)
	if err != nil {
		return err
	}
	for w := newWait(p, clk, patience); ; {
		timer := clk.NewTimer(progressInterval)
		select {
		case <-p.done:
			timer.Stop()
			return p.err
		case <-ctx.Done():
			timer.Stop()
			p.Kill()
			return errors.Join(context.Cause(ctx), p.err)
		case <-timer.C():
		}
		if err := w.look(""); err != nil {
			p.Kill()
			return errors.Join(fmt.Errorf("%s: %w%s", spec.Name, err, p.lastOutput()), p.err)
		}
	}
}
