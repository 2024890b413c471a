package sink_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/faults/sink"
)

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
	require.Equal(t, []sink.Change{{ID: "1-7", Run: "r", Action: "a0", Attempt: 1, Phase: "RUNNING", Version: 2, Sequence: 7}}, s.Changes("r"))
}
