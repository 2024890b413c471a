package gateway

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// exchange is one request and its answer.
type exchange struct {
	place
	host   string // that the client has named
	route  *enginev1.AppRoute
	to     *url.URL // its path at a replica, with the query; the replica comes later
	client client
	began  time.Duration
	// assertion tells the app who calls; empty for anonymous callers.
	assertion string
	cancel    context.CancelCauseFunc
	body      pausable
	kept      *body // nil without a body
	out       *answer
	// arriving is the request whose trailers come with the end of its body, passing those of them that the app gets. Both are
	// nil if none was announced.
	arriving *http.Request
	passing  http.Header
	// duplex means that the body may not have been read to its end when the answer is complete.
	duplex bool
	// target is the replica that has the request; it is given back at the end.
	target *target
	// stopAfter undoes what ends the exchange when the process stops.
	stopAfter func() bool

	silence
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// silence ends an exchange in which nothing moves for too long.
type silence struct {
	limit   time.Duration
	expired func()
	moved   atomic.Int64 // time of the process

	mu      sync.Mutex
	timer   *time.Timer // GUARDED_BY(mu)
	running bool        // GUARDED_BY(mu)
}

// start begins to measure, or begins again.
func (s *silence) start() {
	s.touch()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = true
	if s.timer == nil {
		s.timer = time.AfterFunc(s.limit, s.check)
		return
	}
	s.timer.Reset(s.limit)
}

// touch tells that something has moved.
func (s *silence) touch() { s.moved.Store(int64(uptime())) }

func (s *silence) check() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running {
		return
	}
	if left := s.limit - (uptime() - time.Duration(s.moved.Load())); left > 0 {
		s.timer.Reset(left)
		return
	}
	s.expired()
}

// stop ends the measuring, until the next start.
func (s *silence) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = false
	if s.timer != nil {
		s.timer.Stop()
	}
}

// pausable is a body whose speed is measured, such as slowbody.Body.
type pausable interface {
	Pause()
	Resume()
}

// unmeasured is a body that no one measures.
type unmeasured struct{}

// Pause implements pausable.
func (unmeasured) Pause() {}

// Resume implements pausable.
func (unmeasured) Resume() {}

// measured returns the control over a body. Those of gRPC calls are streams, which may be silent.
func measured(r *http.Request) pausable {
	body, ok := r.Body.(pausable)
	if !ok {
		return unmeasured{}
	}
	if isGRPC(r.Header) {
		body.Pause()
		return unmeasured{}
	}
	return body
}

// isGRPC reports whether a header is that of gRPC, which needs HTTP/2. gRPC-Web does not.
func isGRPC(header http.Header) bool {
	content := header.Get("Content-Type")
	return strings.HasPrefix(content, "application/grpc") && !strings.HasPrefix(content, "application/grpc-web")
}

// flows reports whether an answer is a stream, which may be silent for long.
func flows(response *http.Response) bool {
	content := response.Header.Get("Content-Type")
	return response.StatusCode == http.StatusSwitchingProtocols || strings.HasPrefix(content, "text/event-stream") ||
		strings.HasPrefix(content, "application/grpc")
}

// replayed is how many bytes of a body are kept, for the case that nothing of the request was sent.
const replayed = 32 << 10

// body is the body of a request. It can be read from the beginning again, as long as not more than a little was read: a
// connection may turn out to be closed when the request is written to it. What still reads for that connection then shares
// the lock with its successor, so that no byte gets lost between them.
type body struct {
	source io.Reader
	moved  func()
	ended  func() // called once, before the end of the source is passed on

	done atomic.Bool // the source is at its end

	mu   sync.Mutex
	read int    // GUARDED_BY(mu): bytes of the source
	kept []byte // GUARDED_BY(mu): all of them, while they are few
}

// open returns a reader from the beginning.
func (b *body) open() (io.ReadCloser, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.read > len(b.kept) {
		return nil, errBodyGone
	}
	return io.NopCloser(&bodyReader{body: b}), nil
}

// whole reports whether the body has been read to its end.
func (b *body) whole() bool { return b == nil || b.done.Load() }

// bodyReader reads what is kept, then the rest.
type bodyReader struct {
	body *body
	at   int
}

// Read implements io.Reader.
func (r *bodyReader) Read(p []byte) (int, error) {
	b := r.body
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.at < b.read {
		if b.read > len(b.kept) {
			return 0, errBodyGone
		}
		n := copy(p, b.kept[r.at:])
		r.at += n
		return n, nil
	}
	// The transport reads again after the last byte. The server has closed the body by then if the answer has begun, and
	// an error would make the transport close the connection, in the middle of that answer.
	if b.done.Load() {
		return 0, io.EOF
	}
	n, err := b.source.Read(p)
	b.moved()
	if err == io.EOF {
		b.ended()
		b.done.Store(true)
	}
	if b.read == len(b.kept) && b.read+n <= replayed {
		b.kept = append(b.kept, p[:n]...)
	} else if n > 0 {
		b.kept = nil
	}
	b.read += n
	r.at = b.read
	return n, err
}

var errBodyGone = rpc.Unavailable(nil, "the connection to the replica broke while the request was sent")
