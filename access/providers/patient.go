package providers

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// How often the documents of a provider are read at most: again after askAgain, and after failures in a row with pauses that double
// from that up to maxPause. Any token that names an unknown key causes a read.
const (
	askAgain = time.Second
	maxPause = 15 * time.Second
)

// maxDocument bounds a document, in bytes.
const maxDocument = 1 << 20

// patient is the transport by which the documents of a provider are read: its metadata and its keys. In the pause after a read, it
// answers at once with the result of that, so that callers do not wait for a provider that is away, and a provider is not flooded.
type patient struct {
	next  http.RoundTripper
	clock clock.Clock

	asking singleflight.Group // by URL
	mu     sync.Mutex
	reads  map[string]*read // GUARDED_BY(mu): by URL
}

// read is the result of the last read of a document.
type read struct {
	pauses *backoff.Backoff
	until  time.Time
	body   []byte
	header http.Header
	err    error
}

func newPatient(next http.RoundTripper, clk clock.Clock) *patient {
	return &patient{next: next, clock: clk, reads: map[string]*read{}}
}

// RoundTrip implements http.RoundTripper. An answer that is not 200 is an error.
func (p *patient) RoundTrip(request *http.Request) (*http.Response, error) {
	last, fresh := p.last(request)
	if !fresh {
		// Callers at the same time share one read. It does not end with the first of them, which may leave.
		asked, _, _ := p.asking.Do(request.URL.String(), func() (any, error) { return p.again(request), nil })
		last = asked.(*read) //nolint:forcetypeassert // again returns nothing else
	}
	switch {
	case last.err != nil && fresh:
		return nil, fmt.Errorf("%w; it is asked again at %s", last.err, last.until.UTC().Format(time.TimeOnly))
	case last.err != nil:
		return nil, last.err
	}
	return &http.Response{
		Status: http.StatusText(http.StatusOK), StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: last.header.Clone(), Body: io.NopCloser(bytes.NewReader(last.body)), ContentLength: int64(len(last.body)), Request: request,
	}, nil
}

// last is the result of the last read of a document, and whether it counts still.
func (p *patient) last(request *http.Request) (last *read, fresh bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, now := p.reads[request.URL.String()], p.clock.Now()
	return last, last != nil && now.Before(last.until) && !now.Before(last.until.Add(-2*maxPause)) // a clock that was set back ends no pause
}

// again reads a document, unless another caller just did.
func (p *patient) again(request *http.Request) *read {
	last, fresh := p.last(request)
	if fresh {
		return last
	}
	reading, cancel := context.WithTimeout(context.WithoutCancel(request.Context()), answerTimeout)
	defer cancel()
	last = p.ask(request.WithContext(reading), last)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reads[request.URL.String()] = last
	return last
}

// ask reads a document.
func (p *patient) ask(request *http.Request, before *read) *read {
	got := &read{pauses: backoff.New(askAgain, maxPause)}
	if before != nil {
		got.pauses = before.pauses
	}
	if got.header, got.body, got.err = p.document(request); got.err == nil {
		got.pauses.Reset()
		got.until = p.clock.Now().Add(askAgain)
	} else {
		got.until = p.clock.Now().Add(got.pauses.Next())
	}
	return got
}

func (p *patient) document(request *http.Request) (http.Header, []byte, error) {
	response, err := p.next.RoundTrip(request)
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // the client adds the method and the URL
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxDocument))
	switch {
	case err != nil:
		return nil, nil, err //nolint:wrapcheck // as above
	case response.StatusCode != http.StatusOK:
		return nil, nil, fmt.Errorf("it answered %s", response.Status)
	default:
		return response.Header, body, nil
	}
}
