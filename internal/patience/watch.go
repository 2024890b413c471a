// Package patience waits out outages of the Kubernetes API server below the client. Its informers wait longer after each
// failure, up to a minute, and so would sit still long after the API server is back; a request that waits by itself and asks
// again every second or two never fails, and is there when the API server is.
package patience

import (
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/clock"
)

// The pause between two tries: the first, and the longest. Each is spread by up to a half more.
const (
	minPause = 100 * time.Millisecond
	maxPause = 2 * time.Second
)

// Watches wraps the connections to an API server: requests for watches, and for the lists that informers begin with, wait
// until it answers. An answer is everything but a failure to connect, 429 and the 5xx that say that it is not ready. The
// request's context ends the wait. Other requests pass as they are: their callers have deadlines of their own.
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
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		response, err := p.next.RoundTrip(request)
		if err == nil && !notReady(response.StatusCode) || request.Context().Err() != nil {
			if pause > minPause {
				p.log.Info().Str("path", request.URL.Path).Msg("the API server takes the watch again")
			}
			return response, err
		}
		if pause == minPause { // once for each outage
			p.log.Warn().Err(reason(response, err)).Str("path", request.URL.Path).Msg("the API server takes no watch, waiting for it")
		}
		if err == nil {
			_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)) // so that the connection is used again
			_ = response.Body.Close()
		}
		timer := p.clock.NewTimer(pause + rand.N(pause/2)) //nolint:gosec // only spreads tries
		select {
		case <-timer.C():
		case <-request.Context().Done():
			timer.Stop()
			return nil, request.Context().Err()
		}
	}
}

// ofInformer tells a watch, or a list from a version, from a plain read. Both have no body, so that they can be sent again.
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
