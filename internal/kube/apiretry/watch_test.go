package apiretry_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/kube/apiretry"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// server answers with each of its answers in turn: a status, or 0 for no connection. The last one repeats.
type server struct {
	answers []int
	asked   int
}

func (s *server) RoundTrip(request *http.Request) (*http.Response, error) {
	answer := s.answers[min(s.asked, len(s.answers)-1)]
	s.asked++
	if answer == 0 {
		return nil, errors.New("connection refused")
	}
	return &http.Response{StatusCode: answer, Status: strconv.Itoa(answer), Body: io.NopCloser(strings.NewReader("body")), Request: request}, nil
}

func get(ctx context.Context, t *testing.T, s *server, clk clock.Clock, method, url string) (*http.Response, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, method, url, nil)
	require.NoError(t, err)
	return apiretry.Watches(clk, zerolog.Nop())(s).RoundTrip(request)
}

func TestWatchesWaitUntilTheServerAnswers(t *testing.T) {
	for _, url := range []string{"http://x/pods?watch=true", "http://x/pods?resourceVersion=0"} {
		s := &server{answers: []int{0, 503, 429, 500, 200}}
		response, err := get(t.Context(), t, s, instant{}, http.MethodGet, url)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, response.StatusCode)
		require.NoError(t, response.Body.Close())
		require.Equal(t, 5, s.asked)
	}
}

func TestAnswersArePassedOn(t *testing.T) {
	for _, status := range []int{http.StatusGone, http.StatusForbidden, http.StatusNotFound, http.StatusUnauthorized} {
		s := &server{answers: []int{status}}
		response, err := get(t.Context(), t, s, instant{}, http.MethodGet, "http://x/pods?watch=true&resourceVersion=5")
		require.NoError(t, err)
		require.Equal(t, status, response.StatusCode)
		require.NoError(t, response.Body.Close())
		require.Equal(t, 1, s.asked)
	}
}

func TestOtherRequestsAreNotHeld(t *testing.T) {
	for _, c := range [][2]string{{http.MethodGet, "http://x/pods/a"}, {http.MethodPost, "http://x/pods?watch=true"}, {http.MethodGet, "http://x/pods"}} {
		s := &server{answers: []int{0, 200}}
		response, err := get(t.Context(), t, s, instant{}, c[0], c[1])
		if response != nil {
			require.NoError(t, response.Body.Close())
		}
		require.ErrorContains(t, err, "connection refused")
		require.Equal(t, 1, s.asked)
	}
}

func TestTheCallerMayCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &server{answers: []int{0}}
	response, err := get(ctx, t, s, cancelling{cancel}, http.MethodGet, "http://x/pods?watch=1")
	if response != nil {
		require.NoError(t, response.Body.Close())
	}
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, s.asked)
}

func TestAnOutageIsLoggedOnceAndAStartIsNot(t *testing.T) {
	for name, c := range map[string]struct {
		answers []int
		want    string
	}{
		"a server that starts":          {[]int{429, 429, 429, 200}, ""},
		"no connection":                 {[]int{0, 503, 0, 200}, "connection refused"},
		"an outage after a busy answer": {[]int{429, 503, 429, 200}, "503"},
		"busy for long":                 {append(slices.Repeat([]int{429}, 12), 200), "429"},
	} {
		t.Run(name, func(t *testing.T) {
			var lines bytes.Buffer
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://x/pods?watch=true", nil)
			require.NoError(t, err)
			response, err := apiretry.Watches(instant{}, zerolog.New(&lines))(&server{answers: c.answers}).RoundTrip(request)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			if c.want == "" {
				require.Empty(t, lines.String())
				return
			}
			require.Equal(t, 1, strings.Count(lines.String(), `"level":"warn"`), lines.String())
			require.Contains(t, lines.String(), c.want)
			require.Equal(t, 1, strings.Count(lines.String(), "watch resumed"), lines.String())
		})
	}
}

// instant is a clock whose timers have fired already.
type instant struct{ clock.System }

func (instant) NewTimer(d time.Duration) clock.Timer {
	if d < 75*time.Millisecond || d > 2500*time.Millisecond {
		panic(d)
	}
	return clock.System{}.NewTimer(0)
}

// cancelling is a clock whose timers never fire and cancel the caller's context.
type cancelling struct{ cancel context.CancelFunc }

func (cancelling) Now() time.Time { return time.Time{} }

func (c cancelling) NewTimer(time.Duration) clock.Timer {
	c.cancel()
	return clock.System{}.NewTimer(time.Hour)
}
