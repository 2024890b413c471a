// Package memhttp calls HTTP handlers of the same process without a socket: requests and responses stream through memory in both
// directions at once.
package memhttp

import (
	"context"
	"fmt"
	"io"
	"net/http"
)

// Client sends requests to Handler, which sees requests of HTTP/2. The end of the client's context ends the handler's.
type Client struct {
	Handler http.Handler
	// Values is the context whose values the handler sees, for that of the caller. No other values cross a call.
	Values func(caller context.Context) context.Context
}

// Do implements connect.HTTPClient. It returns when the handler sent its headers.
func (c Client) Do(request *http.Request) (*http.Response, error) {
	if isUnary(request) {
		return c.call(request)
	}
	return c.stream(request)
}

// isUnary reports whether the request and its response are one message each. Streams have content types of their own in Connect,
// and in gRPC all calls have that of streams.
func isUnary(request *http.Request) bool {
	switch request.Header.Get("Content-Type") {
	case "application/proto", "application/json":
		return request.GetBody != nil
	default:
		return false
	}
}

// call runs the handler on the goroutine of the caller, which waits for all of the response anyway. A new goroutine for each call
// would have to grow its stack again, which costs more than many of the calls do. A handler that ignores the end of
// its context holds its caller.
func (c Client) call(request *http.Request) (*http.Response, error) {
	ctx, cancel := c.context(request.Context())
	defer cancel()
	body := request.Body
	defer body.Close()
	w := newResponseWriter(request)
	w.body.unbounded = true // the caller reads only after the handler has returned
	w.serve(c.Handler, serverRequest(ctx, request, body))
	if w.failure != nil {
		return nil, w.failure
	}
	w.response.Body = &responseBody{buffer: w.body, release: func() {}}
	return w.response, nil
}

func (c Client) stream(request *http.Request) (*http.Response, error) {
	ctx, cancel := c.context(request.Context())
	body := requestBody(request)
	w := newResponseWriter(request)
	go func() {
		defer cancel()
		defer body.Close()
		w.serve(c.Handler, serverRequest(ctx, request, body))
	}()
	// A handler that waits for the request's next message or writes to a client that does not read would not notice
	// the end of its context.
	stop := context.AfterFunc(request.Context(), func() {
		cause := request.Context().Err()
		w.body.refuse(cause)
		cancel()
		body.Close()
	})
	select {
	case <-w.ready:
	case <-request.Context().Done():
		return nil, request.Context().Err()
	}
	if w.failure != nil {
		stop()
		return nil, w.failure
	}
	w.response.Body = &responseBody{buffer: w.body, release: func() { stop(); cancel(); body.Close() }}
	return w.response, nil
}

// context is that of the handler: it ends with the caller's, and has the values that cross the call.
func (c Client) context(caller context.Context) (context.Context, context.CancelFunc) {
	return context.WithCancel(callContext{Context: caller, values: c.Values(caller)})
}

// callContext has the end of one context and the values of another.
type callContext struct {
	context.Context                 //nolint:containedctx // it is one itself
	values          context.Context //nolint:containedctx // as above
}

// Value implements context.Context.
func (c callContext) Value(key any) any { return c.values.Value(key) }

// AfterFunc lets the context package watch the caller without a goroutine for each call.
func (c callContext) AfterFunc(f func()) func() bool { return context.AfterFunc(c.Context, f) }

// serverRequest is what a server would have made of the client's request.
func serverRequest(ctx context.Context, request *http.Request, body io.ReadCloser) *http.Request {
	r := request.Clone(ctx)
	r.Body = body
	r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/2.0", 2, 0
	r.RequestURI = r.URL.RequestURI()
	r.RemoteAddr = "in-process"
	if r.Host == "" {
		r.Host = r.URL.Host
	}
	for _, header := range []string{"Accept-Encoding", "Connect-Accept-Encoding", "Grpc-Accept-Encoding"} {
		r.Header.Del(header) // compression would only cost time here
	}
	return r
}

// requestBody buffers what a streaming client sends; whole messages are read where they lie.
func requestBody(request *http.Request) io.ReadCloser {
	if request.Body == nil || request.Body == http.NoBody {
		return http.NoBody
	}
	if request.GetBody != nil {
		return request.Body
	}
	b := newBuffer()
	go func() {
		_, err := io.Copy(b, request.Body)
		if err == nil {
			err = io.EOF
		}
		b.finish(err)
	}()
	return &streamedBody{buffer: b, source: request.Body}
}

// streamedBody is the handler's end of a request stream.
type streamedBody struct {
	*buffer
	source io.Closer
}

// Close tells the client that no one reads on.
func (s *streamedBody) Close() error {
	s.refuse(http.ErrBodyReadAfterClose)
	return s.source.Close()
}

// responseBody is the client's end of a response stream.
type responseBody struct {
	*buffer
	release func()
}

// Close ends the handler, as closing a stream over a network would.
func (r *responseBody) Close() error {
	r.refuse(io.ErrClosedPipe)
	r.release()
	return nil
}

// panicError is what a client gets when a handler panicked outside the interceptors.
func panicError(value any) error { return fmt.Errorf("in-process handler panicked: %v", value) }
