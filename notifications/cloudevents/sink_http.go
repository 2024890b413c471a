package cloudevents

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/flyte-binary/flyte-binary/internal/wire/outbound"
)

// parallel is how many runs a batch is posted for at once.
const parallel = 16

// httpSink posts each event. The address comes from the configuration and may be anywhere.
type httpSink struct {
	config Sink
	client *http.Client
}

func newHTTPSink(config Sink, settings *tls.Config) *httpSink {
	return &httpSink{config: config, client: &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: parallel, TLSClientConfig: settings, ForceAttemptHTTP2: true,
			// A receiver that answers twice would have its second answer taken for that to the next event on the connection.
			// HTTP/2, which TLS allows, ties answers to requests.
			DisableKeepAlives: strings.HasPrefix(config.URL, "http:"),
		},
		// A redirect is an answer other than 2xx: it may change the method, and the headers may be for this host alone.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// publish posts the events of different runs at once, and those of one run one after the other.
func (s *httpSink) publish(ctx context.Context, batch []*message) error {
	var order []string
	runs := map[string][]*message{}
	for _, one := range batch {
		if runs[one.key] == nil {
			order = append(order, one.key)
		}
		runs[one.key] = append(runs[one.key], one)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, key := range order {
		group.Go(func() error {
			for _, one := range runs[key] {
				if err := s.post(ctx, one); err != nil {
					return err
				}
				one.sent = true
			}
			return nil
		})
	}
	return group.Wait()
}

func (s *httpSink) post(ctx context.Context, one *message) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.config.URL, bytes.NewReader(one.body))
	if err != nil {
		return fmt.Errorf("its URL cannot be read")
	}
	for name, value := range s.config.Headers {
		request.Header.Set(name, value)
	}
	request.Header.Set("Content-Type", contentType)
	request.Header.Set(outbound.HeaderKey, one.id)
	return outbound.Send(s.client, request)
}

func (s *httpSink) close() { s.client.CloseIdleConnections() }
