// Package apiretry hides outages of the Kubernetes API server from informers. Their own backoff grows up to a minute, so
// they would notice late that the API server is back. Here a request is retried every second or two until the API server
// answers.
package apiretry

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// The first and the longest pause between two tries, before jitter of up to one half.
const (
	minPause = 100 * time.Millisecond
	maxPause = 2 * time.Second
)

// patience is how many answers of 429 in a row are normal: an API server that starts gives them for some seconds. With the
// pauses above, eight take about seven seconds.
const patience = 8

// Watches wraps the connections to an API server: requests for watches, and for the lists that informers begin with, wait
// until it answers. Everything is an answer except failures to connect, 429 and the 5xx codes that mean that it is not ready. The
// request's context ends the wait. Other requests are not retried: their callers have deadlines of their own.
func Watches(clk clock.Clock, log zerolog.Logger) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper { return &patient{next: next, clock: clk, log: log} }
}

type patient struct {
	next  http.RoundTripper
	clock clock.Clock
	log   zerolog.Logger
}

// RoundTrip implements http.RoundTripper.
func (p *patient) RoundTrip(request *http.Request) (*http.Response, error) {
	if !ofInformer(request) {
		return p.next.RoundTrip(request)
	}
	retries, told := backoff.New(minPause, maxPause), false
	for {
		response, err := p.next.RoundTrip(request)
		if err == nil && !notReady(response.StatusCode) || request.Context().Err() != nil {
			if told {
				p.log.Info().Str("path", request.URL.Path).Msg("API server answered; watch resumed")
			}
			return response, err
		}
		if starting := err == nil && response.StatusCode == http.StatusTooManyRequests && retries.Failures() < patience; !starting && !told {
			told = true // once for each outage
			p.log.Warn().Err(reason(response, err)).Str("path", request.URL.Path).Msg("API server did not answer a watch; retrying")
		}
		if err == nil {
			_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)) // so that the connection is used again
			_ = response.Body.Close()
		}
		if err := retries.Wait(request.Context(), p.clock); err != nil {
			return nil, err
		}
	}
}

// ofInformer reports whether a request is a watch or a list from a version, not a plain read. Both have no body, so they
// can be sent again.
func ofInformer(request *http.Request) bool {
	if request.Method != http.MethodGet {
		return false
	}
	query := request.URL.Query()
	return query.Has("watch") || query.Has("resourceVersion")
}

func reason(response *http.Response, err error) error {
	if err == nil {
		err = errors.New(response.Status)
	}
	return err
}

func notReady(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}
