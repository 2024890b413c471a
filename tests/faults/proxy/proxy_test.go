package proxy_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/flyte-binary/flyte-binary/tests/faults/proxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo is a server that sends back what it gets.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	return listener.Addr().String()
}

func dial(t *testing.T, p *proxy.TCP) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

// says sends a word and reads the answer, within a time.
func says(conn net.Conn, word string, timeout time.Duration) error {
	if _, err := conn.Write([]byte(word)); err != nil {
		return err
	}
	return hears(conn, word, timeout)
}

func hears(conn net.Conn, word string, timeout time.Duration) error {
	if err := conn.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	answer := make([]byte, len(word))
	if _, err := io.ReadFull(conn, answer); err != nil {
		return err
	}
	if string(answer) != word {
		return errors.New("another answer: " + string(answer))
	}
	return nil
}

const (
	soon  = 100 * time.Millisecond
	later = 10 * time.Second
)

func newTCP(t *testing.T) *proxy.TCP {
	t.Helper()
	p, err := proxy.NewTCP(echo(t))
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

func TestCutConnectionsEndAndNewOnesWork(t *testing.T) {
	p := newTCP(t)
	conn := dial(t, p)
	require.NoError(t, says(conn, "hello", later))
	p.Cut()
	require.Error(t, says(conn, "hello", later))
	require.NoError(t, says(dial(t, p), "again", later))
	p.Refuse(true)
	refused, err := net.Dial("tcp", p.Addr())
	if err == nil { // It may have been reset before.
		defer refused.Close()
		err = says(refused, "hello", later)
	}
	require.Error(t, err)
	p.Refuse(false)
	require.NoError(t, says(dial(t, p), "again", later))
}

func TestFrozenConnectionsSayNothingUntilTheyThaw(t *testing.T) {
	p := newTCP(t)
	conn := dial(t, p)
	require.NoError(t, says(conn, "hello", later))
	p.Freeze()
	require.ErrorContains(t, says(conn, "anybody", soon), "timeout", "no error, just silence")
	require.NoError(t, says(dial(t, p), "others", later), "new connections work")
	p.Thaw()
	require.NoError(t, hears(conn, "anybody", later), "nothing was lost")
	p.Freeze()
	p.DropFrozen()
	require.Error(t, says(conn, "hello", later))
}

func TestSlowConnectionsDelayEveryPiece(t *testing.T) {
	p := newTCP(t)
	conn := dial(t, p)
	p.Slow(50 * time.Millisecond)
	began := time.Now()
	require.NoError(t, says(conn, "hello", later))
	require.GreaterOrEqual(t, time.Since(began), 100*time.Millisecond, "delayed in both directions")
}

func TestAPIRefusesAShareOfTheRequests(t *testing.T) {
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("Authorization"))
	}))
	defer target.Close()
	p, err := proxy.NewAPI(target.URL, "secret", nil)
	require.NoError(t, err)
	defer p.Close()
	defer http.DefaultClient.CloseIdleConnections()
	ask := func(method string) (int, string) {
		request, err := http.NewRequest(method, p.URL()+"/api", nil)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, string(body)
	}
	status, body := ask(http.MethodGet)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "Bearer secret", body)

	p.Fail(1, http.StatusTooManyRequests)
	status, body = ask(http.MethodGet)
	require.Equal(t, http.StatusTooManyRequests, status)
	require.Contains(t, body, "TooManyRequests")
	p.Fail(1, http.StatusConflict)
	status, _ = ask(http.MethodGet)
	require.Equal(t, http.StatusOK, status, "reads never conflict")
	status, _ = ask(http.MethodPatch)
	require.Equal(t, http.StatusConflict, status)
	require.Equal(t, 2, p.Refused())
	p.Fail(0, 0)
	status, _ = ask(http.MethodPatch)
	require.Equal(t, http.StatusOK, status)
}

func TestASlowAPIForwardsLate(t *testing.T) {
	asked := make(chan struct{}, 10)
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked <- struct{}{} }))
	defer target.Close()
	p, err := proxy.NewAPI(target.URL, "secret", nil)
	require.NoError(t, err)
	defer p.Close()
	defer http.DefaultClient.CloseIdleConnections()
	ask := func(ctx context.Context, query string) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL()+"/api"+query, nil)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		return response.Body.Close()
	}
	p.Slow(time.Hour)
	require.NoError(t, ask(t.Context(), "?watch=true"), "watches go on")
	<-asked
	impatient, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, ask(impatient, ""), context.DeadlineExceeded)
	waits := make(chan error, 1)
	go func() { waits <- ask(t.Context(), "") }()
	require.Never(t, func() bool { return len(asked) > 0 }, 20*time.Millisecond, time.Millisecond)
	for healed := false; !healed; { // also one that is not held yet
		p.Slow(0)
		select {
		case err := <-waits:
			require.NoError(t, err)
			healed = true
		case <-time.After(time.Millisecond):
		}
	}
	require.Len(t, asked, 1)
}
