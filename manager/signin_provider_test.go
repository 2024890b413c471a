package manager_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access"
	"github.com/flyte-binary/flyte-binary/internal/test/issuertest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// startWithProviders is a server with the example provider and a small second one, and with local accounts.
func startWithProviders(t *testing.T) (*closedServer, *issuertest.Issuer) {
	t.Helper()
	server, second, _ := startWithProvidersAt(t, nil)
	return server, second
}

// startWithProvidersAt is the same with a clock of its own, and returns the example provider too.
func startWithProvidersAt(t *testing.T, clk clock.Clock) (*closedServer, *issuertest.Issuer, *issuertest.Zitadel) {
	t.Helper()
	address, second := freeAddress(t), issuertest.New(t)
	_, port, _ := strings.Cut(address, ":")
	first := issuertest.NewZitadel(t, "https://localhost:"+port+"/access/callback")
	server := startSignInAt(t, clk, func(c *configuration.Config) {
		c.Server.Listen = address
		c.Access.Issuers = []access.IssuerConfig{
			{Name: "Zitadel", URL: first.URL, ClientID: issuertest.ClientID, ClientSecret: issuertest.ClientSecret},
			{Name: "Second", URL: second.URL, ClientID: "flyte"},
		}
	})
	return server, second, first
}

// atProvider signs in at the example provider and returns the page to which it leads back.
func (b *browser) atProvider(link string) page {
	b.t.Helper()
	shown := b.open(link)
	require.Contains(b.t, shown.location.Path, "/login/username", shown.body)
	form := url.Values{"username": {issuertest.User}, "password": {issuertest.Password}, "id": {shown.location.Query().Get("authRequestID")}}
	request, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, shown.location.String(), strings.NewReader(form.Encode()))
	require.NoError(b.t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return b.send(request)
}

// TestSigningInAtAProvider signs in with an identity provider: in the console, and from the command line, which knows nothing of
// the provider.
func TestSigningInAtAProvider(t *testing.T) {
	server, _, provider := startWithProvidersAt(t, nil)
	browser := server.browser(t)
	shown := browser.open("/access/sign-in?return=/v2/runs")
	require.Contains(t, shown.body, "Continue with Zitadel")
	require.Contains(t, shown.body, "Continue with Second")
	back := browser.atProvider("/access/provider?name=Zitadel&return=/v2/runs")
	require.Equal(t, "/v2/runs", back.location.Path)
	who, err := server.whoami(t, browser.http, "")
	require.NoError(t, err)
	require.Equal(t, []string{issuertest.Subject, "Test User2", issuertest.Email}, []string{who.GetSubject(), who.GetName(), who.GetEmail()})

	left := browser.post("/access/sign-out", nil)
	require.Equal(t, 1, provider.Served("/end_session"), "the provider signs the person out too")
	require.Equal(t, "/access/signed-out", left.location.Path)
	_, err = server.whoami(t, browser.http, "")
	require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err))

	client := browser.commandLine()
	shown = browser.open(client.meta.GetAuthorizationEndpoint() + "?" + client.parameters().Encode())
	callback := browser.atProvider("/access/provider?name=Zitadel&request=" + shown.field(t, "request"))
	got := client.exchange(callback.location)
	who, err = server.whoami(t, server.browser(t).http, got.Access)
	require.NoError(t, err)
	require.Equal(t, issuertest.Subject, who.GetSubject())
}

// TestAnAnswerOfAProviderIsForOneBrowser delivers the answer of a provider in another browser, and twice.
func TestAnAnswerOfAProviderIsForOneBrowser(t *testing.T) {
	server, _ := startWithProviders(t)
	victim, attacker := server.browser(t), server.browser(t)
	var answer string
	attacker.http.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if r.URL.Path == "/access/callback" {
			answer = r.URL.String()
			return http.ErrUseLastResponse
		}
		return nil
	}
	attacker.atProvider("/access/provider?name=Zitadel")
	require.NotEmpty(t, answer)
	shown := victim.open(answer)
	require.Equal(t, http.StatusUnauthorized, shown.status)
	require.Contains(t, shown.body, "was begun in another browser")
	_, err := server.whoami(t, victim.http, "")
	require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err))
	require.Equal(t, http.StatusUnauthorized, attacker.open(answer).status, "an answer is taken once")
}

// TestSubjectsOfSeveralSources presents the same name by every source: each is another caller.
func TestSubjectsOfSeveralSources(t *testing.T) {
	clk := shiftedBy(0)
	server, second, _ := startWithProvidersAt(t, clk)
	program := server.browser(t)
	second.Away(true)
	require.Contains(t, program.open("/access/provider?name=Second").body, "Second does not answer")
	second.Away(false)
	clk.by.Add(int64(2 * time.Second)) // then it is asked again
	who, err := server.whoami(t, program.http, second.Token(map[string]any{"aud": "flyte", "sub": "grace"}))
	require.NoError(t, err)
	require.Equal(t, "Second|grace", who.GetSubject())
	program.signIn("grace")
	who, err = server.whoami(t, program.http, "")
	require.NoError(t, err)
	require.Equal(t, "local|grace", who.GetSubject())
	_, err = server.whoami(t, program.http, second.Token(map[string]any{"aud": "another installation"}))
	require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err))
	require.ErrorContains(t, err, "its audience is another installation, not flyte")
}
