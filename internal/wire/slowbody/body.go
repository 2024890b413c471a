// Package slowbody ends requests whose bodies arrive too slowly. A client that sends a byte a minute would otherwise
// hold its connection, and what the server keeps for it, forever. It limits neither how long an upload takes as long as
// it makes progress, nor how long a stream of messages is silent between two of them. It imports no other package of
// this module.
package slowbody

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// minRate is how many bytes a second a body must have on average, after the grace.
const minRate = 4 << 10

// ErrTooSlow is in the errors of bodies that arrive too slowly.
var ErrTooSlow = errors.New("the request's body arrives too slowly")

// Guard returns next behind the limit. grace is how long a body may bring nothing. A body that is slower than 4 KiB a
// second on average ends too, once it takes longer than the grace.
func Guard(grace time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		body := &Body{source: r.Body, deadlines: http.NewResponseController(w), grace: grace, now: time.Now}
		// From the start: what a handler leaves unread is read by the server before it answers.
		body.Resume()
		// A copy, since the server looks at the type of the original's body.
		r = r.WithContext(r.Context())
		r.Body = body
		next.ServeHTTP(w, r)
	})
}

// deadlines ends reads of a connection; http.ResponseController does.
type deadlines interface {
	SetReadDeadline(deadline time.Time) error
}

// Body is the body of a request behind Guard.
type Body struct {
	source    io.ReadCloser
	deadlines deadlines
	grace     time.Duration
	now       func() time.Time

	start, deadline time.Time // deadline is zero in a pause
	received        int64     // since start
}

var _ io.ReadCloser = (*Body)(nil)

// Read implements io.Reader.
func (b *Body) Read(p []byte) (int, error) {
	n, err := b.source.Read(p)
	if b.deadline.IsZero() {
		return n, err
	}
	b.received += int64(n)
	switch {
	case err == nil:
		b.extend()
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("%w: %d bytes in %s; the limits are %s without any and %d bytes a second on average: %w",
			ErrTooSlow, b.received, b.now().Sub(b.start).Round(time.Millisecond), b.grace, minRate, io.ErrUnexpectedEOF)
	default:
		// At the end too: over HTTP/1 the deadline is the connection's, and the answer may take long.
		b.Pause()
	}
	return n, err
}

// extend moves the deadline when half of the grace is over, since moving it costs more than reading.
func (b *Body) extend() {
	now := b.now()
	next := now.Add(b.grace)
	if latest := b.start.Add(b.grace + time.Duration(b.received/minRate)*time.Second); latest.Before(next) {
		next = latest
	}
	if next.Sub(b.deadline) > b.grace/2 {
		b.set(next)
	}
}

// Pause lets the client be silent until Resume, as between the messages of a stream.
func (b *Body) Pause() {
	if !b.deadline.IsZero() {
		b.set(time.Time{})
	}
}

// Resume begins to measure again.
func (b *Body) Resume() {
	b.start, b.received = b.now(), 0
	b.set(b.start.Add(b.grace))
}

func (b *Body) set(deadline time.Time) {
	b.deadline = deadline
	// Transports without deadlines, such as those in memory, have no slow clients.
	_ = b.deadlines.SetReadDeadline(deadline)
}

// Close implements io.Closer.
func (b *Body) Close() error { return b.source.Close() }
