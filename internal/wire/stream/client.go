package stream

import (
	"context"
	"errors"
	"iter"
	"time"

	"connectrpc.com/connect"

	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// ErrSilent ends a stream over which the server sent nothing, not even heartbeats, for longer than the limit.
var ErrSilent = errors.New("no heartbeat")

// MaxSilence is the default of every client's limit. Servers send heartbeats every 15 s by default.
const MaxSilence = time.Minute

// Client opens a stream of messages of type M. Open, MaxSilence and Clock are required; Follow needs
// Backoff too.
type Client[M any] struct {
	// Open calls the server. It may block until the server answers; the silence limit covers that time.
	Open func(ctx context.Context) (*connect.ServerStreamForClient[M], error)
	// MaxSilence is how long the server may send nothing, not even a heartbeat. It is measured while the client waits for a message,
	// so a slow handler cannot exceed it.
	MaxSilence time.Duration
	// ReadAhead is how many messages are received while the handler works on earlier ones; 0 means one.
	ReadAhead int
	// MaxAge is when the client ends a stream cleanly, to compare with a new snapshot; 0 means never.
	MaxAge time.Duration
	// Backoff has the pauses of Follow between two streams.
	Backoff backoff.Config
	// Failed is called by Follow when a stream has failed, with the pause until the next one; nil means that failures are ignored.
	Failed func(err error, pause time.Duration)
	Clock  clock.Clock
}

// Handler handles one stream. It reads the messages with All or Batches and returns when those end. ctx ends with the stream.
// An error of the handler ends the stream with that error.
type Handler[M any] func(ctx context.Context, s *Stream[M]) error

// Follow opens the stream again whenever it has ended, until ctx ends. The pause between two streams grows until a stream reaches
// Complete.
func (c *Client[M]) Follow(ctx context.Context, handle Handler[M]) {
	retries := c.Backoff.New()
	for ctx.Err() == nil {
		complete, err := c.Once(ctx, handle)
		if complete {
			retries.Reset()
		}
		pause := retries.Next()
		if err != nil && ctx.Err() == nil && c.Failed != nil {
			c.Failed(err, pause)
		}
		if clock.Sleep(ctx, c.Clock, pause) != nil {
			return
		}
	}
}

// Once handles one stream until it ends. complete reports whether the handler called Complete. A nil error is a clean end: the
// server ended the stream, or MaxAge has passed.
func (c *Client[M]) Once(ctx context.Context, handle Handler[M]) (complete bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	s := &Stream[M]{client: c, ctx: ctx, cancel: cancel, messages: make(chan *M, c.ReadAhead), ended: make(chan error, 1)}
	go s.receive()
	defer func() {
		cancel()
		for range s.messages { // until the receiving goroutine has ended
		}
	}()
	if c.MaxAge > 0 {
		age := c.Clock.NewTimer(c.MaxAge)
		defer age.Stop()
		s.expired = age.C()
	}
	if err := handle(ctx, s); err != nil {
		return s.complete, err
	}
	return s.complete, s.err
}

// Stream is one stream that a Client has opened. It is used by one goroutine.
type Stream[M any] struct {
	client *Client[M]
	ctx    context.Context //nolint:containedctx // that of the stream
	cancel context.CancelFunc

	messages chan *M    // closed at the end of the stream
	ended    chan error // then has the reason
	expired  <-chan time.Time

	complete bool
	err      error
}

// Complete notes that the client has everything that the server sent at the start, so that Follow forgets earlier failures.
func (s *Stream[M]) Complete() { s.complete = true }

// All iterates over the messages until the stream ends. The stream is closed when the iteration ends.
func (s *Stream[M]) All() iter.Seq[*M] {
	return func(yield func(*M) bool) {
		defer s.cancel()
		for m := s.next(); m != nil && yield(m); m = s.next() {
		}
	}
}

// Batches is All for handlers that write together what comes together: each batch has the next message and those that have been
// read ahead since.
func (s *Stream[M]) Batches() iter.Seq[[]*M] {
	return func(yield func([]*M) bool) {
		for first := range s.All() {
			batch := []*M{first}
			for m := range s.waiting() {
				batch = append(batch, m)
			}
			if !yield(batch) {
				return
			}
		}
	}
}

// waiting iterates over the messages that were read ahead, at most as many as there is room for.
func (s *Stream[M]) waiting() iter.Seq[*M] {
	return func(yield func(*M) bool) {
		for range s.client.ReadAhead {
			select {
			case m, ok := <-s.messages:
				if !ok || !yield(m) {
					return
				}
			default:
				return
			}
		}
	}
}

// next waits for a message; nil means that the stream has ended, with s.err.
func (s *Stream[M]) next() *M {
	silence := s.client.Clock.NewTimer(s.client.MaxSilence)
	defer silence.Stop()
	select {
	case m, ok := <-s.messages:
		if ok {
			return m
		}
		s.err = <-s.ended
	case <-silence.C():
		s.err = ErrSilent
	case <-s.expired:
	case <-s.ctx.Done():
		s.err = s.ctx.Err()
	}
	return nil
}

// receive reads the stream in the background, since neither the call nor the next message may ever come.
func (s *Stream[M]) receive() {
	defer close(s.messages)
	s.ended <- s.forward()
}

func (s *Stream[M]) forward() error {
	stream, err := s.client.Open(s.ctx)
	if err != nil {
		return err
	}
	defer stream.Close() //nolint:errcheck // nothing is written
	for stream.Receive() {
		select {
		case s.messages <- stream.Msg():
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
	return stream.Err()
}
