package slowbody_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/wire/slowbody"
)

// grace is short, so that tests which wait for its end are too. Nothing is asserted about how long anything takes.
const grace = 50 * time.Millisecond

// serve starts a server for HTTP/1 and HTTP/2 without TLS.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewUnstartedServer(slowbody.Guard(grace, h))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

func client(t *testing.T, http2 bool) *http.Client {
	t.Helper()
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetHTTP1(!http2)
	transport.Protocols.SetUnencryptedHTTP2(http2)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func protocols(t *testing.T, test func(t *testing.T, client *http.Client)) {
	t.Helper()
	for name, http2 := range map[string]bool{"HTTP/1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) { test(t, client(t, http2)) })
	}
}

func TestBodyThatStopsIsEnded(t *testing.T) {
	protocols(t, func(t *testing.T, client *http.Client) {
		read := make(chan error, 1)
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, err := io.Copy(io.Discard, r.Body)
			read <- err
			w.WriteHeader(http.StatusRequestTimeout)
		})
		stuck, release := io.Pipe()
		defer release.Close() //nolint:errcheck // it is the test's own
		request, err := http.NewRequest(http.MethodPost, url, io.MultiReader(bytes.NewReader([]byte("begin")), stuck))
		require.NoError(t, err)
		response, err := client.Do(request)
		if err == nil { // over HTTP/1 the connection may be gone before the answer is read
			response.Body.Close()
		}
		require.ErrorIs(t, <-read, slowbody.ErrTooSlow)
	})
}

// TestTricklingBodyIsEnded sends a byte well within every grace, forever.
func TestTricklingBodyIsEnded(t *testing.T) {
	read := make(chan error, 1)
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		read <- err
	})
	conn, err := net.Dial("tcp", url[len("http://"):])
	require.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
	require.NoError(t, err)
	ticker := time.NewTicker(grace / 10)
	defer ticker.Stop()
	for {
		select {
		case err := <-read:
			require.ErrorIs(t, err, slowbody.ErrTooSlow)
			return
		case <-ticker.C:
			_, _ = conn.Write([]byte("x")) // the server may have closed it
		}
	}
}

// TestBodyThatNobodyReadsIsEnded refuses a request without reading it: the server reads some of the body before it
// answers over HTTP/1, and must not wait for a client that sends nothing.
func TestBodyThatNobodyReadsIsEnded(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) })
	conn, err := net.Dial("tcp", url[len("http://"):])
	require.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n")
	require.NoError(t, err)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusForbidden, response.StatusCode)
}

// TestAnswerMayTakeLongerThanTheBody answers long after the grace, as streams do.
func TestAnswerMayTakeLongerThanTheBody(t *testing.T) {
	protocols(t, func(t *testing.T, client *http.Client) {
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, err := io.Copy(io.Discard, r.Body)
			if err != nil {
				return
			}
			select {
			case <-r.Context().Done(): // what a deadline that is left behind does over HTTP/1
			case <-time.After(4 * grace):
				_, _ = io.WriteString(w, "done")
			}
		})
		response, err := client.Post(url, "text/plain", bytes.NewReader(make([]byte, 1<<20)))
		require.NoError(t, err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.Equal(t, "done", string(body))
	})
}

// TestStreamMayPause is silent for long between two messages.
func TestStreamMayPause(t *testing.T) {
	protocols(t, func(t *testing.T, client *http.Client) {
		paused := make(chan struct{})
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			body, ok := r.Body.(*slowbody.Body)
			if !ok {
				return
			}
			one := make([]byte, 1)
			_, err := io.ReadFull(body, one)
			body.Pause()
			close(paused)
			if err == nil {
				_, err = io.ReadFull(body, one)
			}
			_, _ = fmt.Fprint(w, err)
		})
		body, upload := io.Pipe()
		go func() {
			_, _ = upload.Write([]byte("a"))
			<-paused
			<-time.After(4 * grace)
			_, _ = upload.Write([]byte("b"))
			_ = upload.Close()
		}()
		response, err := client.Post(url, "text/plain", body)
		require.NoError(t, err)
		defer response.Body.Close()
		answer, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(nil), string(answer))
	})
}
