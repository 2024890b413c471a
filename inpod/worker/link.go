package worker

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"connectrpc.com/connect"

	workerv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1/workerv1connect"
)

// link is the stream to the server. It is made again after each break.
type link struct {
	client workerv1connect.WorkerServiceClient
}

// bearer sends the worker's token with each call.
type bearer struct {
	token string
	to    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.to.RoundTrip(r)
}

// newLink makes the client of the worker's server. HTTP/2 is required in both forms, since the stream goes both ways at
// once.
func newLink(cfg Config) *link {
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{
		Protocols:           protocols,
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: 5 * time.Second,
	}
	client := &http.Client{Transport: bearer{cfg.Token, transport}}
	// To compress an assignment costs both sides more than the bytes that it saves within a cluster.
	return &link{client: workerv1connect.NewWorkerServiceClient(client, cfg.Endpoint, connect.WithAcceptCompression("gzip", nil, nil))}
}

// run has one stream. next is asked for a message whenever there may be one, and take gets all that the server sends. The stream
// ends with an error; nothing is asked or taken afterwards.
func (l *link) run(
	ctx context.Context, wake <-chan struct{}, next func() *workerv1.WorkRequest, take func(*workerv1.WorkResponse),
) error {
	var writer sync.WaitGroup
	defer writer.Wait()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stream, err := l.client.Work(ctx)
	if err != nil {
		return err
	}
	// The transport looks at the context only between parts of the request.
	defer context.AfterFunc(ctx, func() { _ = stream.CloseRequest() })()
	writer.Go(func() {
		for {
			if err := stream.Send(next()); err != nil {
				timer := time.AfterFunc(lastWord, func() { cancel(err) }) // until then Receive may have the reason
				defer timer.Stop()
				<-ctx.Done()
				return
			}
			select {
			case <-wake:
			case <-ctx.Done():
				return
			}
		}
	})
	for {
		message, err := stream.Receive()
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			cancel(err)
			_ = stream.CloseRequest()
			_ = stream.CloseResponse()
			return err
		}
		take(message)
	}
}

// lastWord is how long the reason is awaited why a stream takes no more messages.
const lastWord = time.Second

var errSilent = errors.New("the server does not answer")

// unknown reports whether the server does not know the worker.
func unknown(err error) bool { return connect.CodeOf(err) == connect.CodeNotFound }
