package manager_test

import (
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/test/issuertest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// shifted is a clock that is off from that of the machine.
type shifted struct {
	clock.Clock
	by atomic.Int64
}

func shiftedBy(off time.Duration) *shifted {
	s := &shifted{Clock: clock.System{}}
	s.by.Store(int64(off))
	return s
}

func (s *shifted) Now() time.Time { return s.Clock.Now().Add(time.Duration(s.by.Load())) }

// TestTwentyMinutesWithoutTheProvider stops the identity provider for twenty minutes: who is signed in stays signed in, and who is not
// learns why.
func TestTwentyMinutesWithoutTheProvider(t *testing.T) {
	clk := shiftedBy(0)
	server, second, provider := startWithProvidersAt(t, clk)
	console := server.browser(t)
	console.atProvider("/access/provider?name=Zitadel&return=/v2/runs")
	client := console.commandLine()
	shown := console.open(client.meta.GetAuthorizationEndpoint() + "?" + client.parameters().Encode())
	back := console.post("/access/approve", url.Values{"request": {shown.field(t, "request")}, "answer": {"allow"}})
	got := client.exchange(back.location)
	program := server.browser(t).http
	of := func(name string) string {
		return second.Token(map[string]any{"aud": "flyte", "sub": name, "exp": clk.Now().Add(time.Hour).Unix(), "iat": clk.Now().Unix()})
	}
	_, err := server.whoami(t, program, of("ada"))
	require.NoError(t, err, "the key of the second provider is known from here on")

	provider.Stop()
	second.Away(true)
	for minute := range 20 {
		clk.by.Add(int64(time.Minute))
		who, err := server.whoami(t, console.http, "")
		require.NoError(t, err, "the session of a browser after %d minutes", minute)
		require.Equal(t, issuertest.Subject, who.GetSubject())
		_, err = server.whoami(t, program, got.Access)
		require.NoError(t, err, "the command line after %d minutes", minute)
		got = client.ask(client.meta.GetTokenEndpoint(), url.Values{
			"grant_type": {"refresh_token"}, "refresh_token": {got.Refresh}, "client_id": {client.config.GetClientId()},
		})
		who, err = server.whoami(t, program, of("grace"))
		require.NoError(t, err, "a token of a provider whose key is known")
		require.Equal(t, "Second|grace", who.GetSubject())
		for _, name := range []string{"Zitadel", "Second"} {
			refused := server.browser(t).open("/access/provider?name=" + name)
			require.Equal(t, http.StatusBadGateway, refused.status)
			require.Contains(t, refused.body, name+" does not answer. Who is signed in stays signed in; signing in works again when it answers.")
		}
	}
	second.Rotate(true)
	clk.by.Add(int64(time.Minute))
	_, err = server.whoami(t, program, of("eve"))
	require.Equal(t, connect.CodeUnavailable, connect.CodeOf(err), "a key that is not known yet says nothing against the token: %v", err)
	require.ErrorContains(t, err, "the identity provider Second cannot be reached to verify the token")

	provider.Start()
	second.Away(false)
	clk.by.Add(int64(time.Minute))
	again := server.browser(t)
	again.atProvider("/access/provider?name=Zitadel&return=/v2/runs")
	_, err = server.whoami(t, again.http, "")
	require.NoError(t, err)
	_, err = server.whoami(t, program, of("eve"))
	require.NoError(t, err)
}

// TestClocksOfServerAndProvider signs in at a server whose clock is off from that of the provider.
func TestClocksOfServerAndProvider(t *testing.T) {
	for _, c := range []struct {
		off    time.Duration
		want   string // of the page; empty if people get in
		bearer string // of the error about a token of five minutes
	}{
		{off: -50 * time.Second}, {off: 50 * time.Second},
		{off: -10 * time.Minute, want: "it was issued at", bearer: "it was issued at"},
		{off: 10 * time.Minute, bearer: "it expired at"}, // the provider's own tokens are valid for an hour
		{off: 70 * time.Minute, want: "it expired at", bearer: "it expired at"},
	} {
		t.Run(c.off.String(), func(t *testing.T) {
			server, second, _ := startWithProvidersAt(t, shiftedBy(c.off))
			browser := server.browser(t)
			shown := browser.atProvider("/access/provider?name=Zitadel&return=/v2/runs")
			_, err := server.whoami(t, browser.http, "")
			if c.want == "" {
				require.NoError(t, err)
			} else {
				require.Equal(t, http.StatusBadGateway, shown.status)
				require.Contains(t, shown.body, "The clocks do not agree")
				require.Contains(t, shown.body, c.want)
				require.Contains(t, shown.body, "if the token is new, this clock or that of Zitadel is wrong")
				require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err))
			}
			_, err = server.whoami(t, browser.http, second.Token(map[string]any{"aud": "flyte", "exp": time.Now().Add(5 * time.Minute).Unix()}))
			if c.bearer == "" {
				require.NoError(t, err)
				return
			}
			require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err))
			require.ErrorContains(t, err, "the token of Second is not valid: "+c.bearer)
			require.ErrorContains(t, err, "this clock or that of Second is wrong")
		})
	}
}
