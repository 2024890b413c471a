package sink_test

import (
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/tests/faults/sink"
)

// TestMail: a client learns the outcome of its message, except where the answer is lost.
func TestMail(t *testing.T) {
	s, err := sink.New()
	require.NoError(t, err)
	t.Cleanup(s.Close)
	for _, tc := range []struct {
		mode      sink.Mode
		taken, ok bool
	}{
		{sink.Healthy, true, true}, {sink.Slow, true, true}, {sink.Refusing, false, false}, {sink.Cutting, false, false},
		{sink.Forgetful, true, false}, {sink.Stammer, true, true},
	} {
		s.Forget()
		s.Set(tc.mode)
		body := strings.NewReader("X-Flyte-Delivery: k\r\n\r\n{\"run\": \"r\", \"phase\": \"FAI=\r\nLED\"}\r\n")
		client, err := smtp.Dial(net.JoinHostPort("127.0.0.1", strconv.Itoa(s.MailPort())))
		require.NoError(t, err)
		err = client.SendMail("a@example.com", []string{"b@example.com"}, body)
		_ = client.Close()
		require.Equal(t, tc.ok, err == nil, "mode %d: %v", tc.mode, err)
		want := []sink.Note(nil)
		if tc.taken {
			want = []sink.Note{{ID: "k", Rule: sink.MailRule, Run: "r", Phase: "FAILED"}}
		}
		require.Equal(t, want, s.Notes("r"), "mode %d", tc.mode)
	}
}

func TestASinkKeepsWhatItTakes(t *testing.T) {
	s, err := sink.New()
	require.NoError(t, err)
	t.Cleanup(s.Close)
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	post := func(url, body string) (int, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
		require.NoError(t, err)
		request.Header.Set("Idempotency-Key", "k")
		request.GetBody = nil // the client does not repeat it
		response, err := client.Do(request)
		if err != nil {
			return 0, err
		}
		return response.StatusCode, response.Body.Close()
	}
	note := func() (int, error) { return post(s.NoteURL("rule"), `{"run": "r", "phase": "FAILED"}`) }
	for _, tc := range []struct {
		mode  sink.Mode
		taken bool
		code  int
	}{
		{sink.Healthy, true, 204},
		{sink.Slow, true, 204},
		{sink.Refusing, false, 503},
		{sink.Cutting, false, 0},
		{sink.Forgetful, true, 0},
		{sink.Stammer, true, 204},
	} {
		s.Forget()
		s.Set(tc.mode)
		code, err := note()
		require.Equal(t, tc.code, code)
		require.Equal(t, tc.code == 0, err != nil)
		want := []sink.Note(nil)
		if tc.taken {
			want = []sink.Note{{ID: "k", Rule: "rule", Run: "r", Phase: "FAILED"}}
		}
		require.Equal(t, want, s.Notes("r"), "mode %d", tc.mode)
	}
	s.Set(sink.Healthy)
	code, err := post(s.GoneURL(), `{}`)
	require.NoError(t, err)
	require.Equal(t, http.StatusGone, code)
	_, err = post(s.EventURL(), `{"id": "1-7", "data": {"run": "r", "action": "a0", "attempt": 1, "phase": "RUNNING", "version": 2, "sequence": 7}}`)
	require.NoError(t, err)
	_, err = post(s.EventURL(), `{"id": "audit-3", "type": "org.flyte.audit", "data": {"sequence": 3, "hash": "ab"}}`)
	require.NoError(t, err)
	require.Equal(t, []sink.Audited{{Sequence: 3, Hash: "ab"}}, s.Audited())
	require.Equal(t, []sink.Change{{ID: "1-7", Run: "r", Action: "a0", Attempt: 1, Phase: "RUNNING", Version: 2, Sequence: 7}}, s.Changes("r"))
}
