package manager_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
)

// cookie is the cookie of a session as the server sends it, with what browsers do with it.
func (s *closedServer) cookie(t *testing.T, name string) *http.Cookie {
	t.Helper()
	browser := s.browser(t)
	browser.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	form := url.Values{"name": {name}, "password": {password}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/access/sign-in", strings.NewReader(form.Encode()))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := browser.http.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Len(t, response.Cookies(), 1)
	return response.Cookies()[0]
}

// TestTheConsolesSession signs a browser in and out.
func TestTheConsolesSession(t *testing.T) {
	server := startSignIn(t, nil)
	browser := server.browser(t)
	shown := browser.post("/access/sign-in", url.Values{"name": {"grace"}, "password": {password}, "return": {"https://evil.example/"}})
	require.Equal(t, "/v2/", shown.location.Path, "and not elsewhere")
	at, err := url.Parse(server.url)
	require.NoError(t, err)
	cookies := browser.http.Jar.Cookies(at)
	require.Len(t, cookies, 1)
	require.Equal(t, "__Host-flyte-session-"+at.Port(), cookies[0].Name)
	sent := server.cookie(t, "grace")
	require.Equal(t, []any{true, true, http.SameSiteLaxMode, "/", ""}, []any{sent.HttpOnly, sent.Secure, sent.SameSite, sent.Path, sent.Domain})
	require.NotEqual(t, cookies[0].Value, sent.Value)
	who, err := server.whoami(t, browser.http, "")
	require.NoError(t, err)
	require.Equal(t, "grace", who.GetSubject())

	foreign, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.url+"/flyteidl2.auth.IdentityService/UserInfo", strings.NewReader("{}"))
	require.NoError(t, err)
	foreign.Header.Set("Content-Type", "application/json")
	foreign.Header.Set("Sec-Fetch-Site", "cross-site")
	require.Equal(t, http.StatusForbidden, browser.send(foreign).status, "a page of another site cannot use the session")
	foreign, err = http.NewRequestWithContext(t.Context(), http.MethodGet, server.url+"/metrics", nil)
	require.NoError(t, err)
	foreign.Header.Set("Sec-Fetch-Site", "cross-site")
	require.Equal(t, http.StatusUnauthorized, browser.send(foreign).status)

	before := server.browser(t)
	before.http.Jar.SetCookies(at, cookies)
	browser.signIn("grace")
	cookies = browser.http.Jar.Cookies(at)
	_, err = server.whoami(t, before.http, "")
	require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err), "a sign-in replaces the token of the session: %v", err)
	second := server.browser(t)
	second.http.Jar.SetCookies(at, cookies)
	require.Contains(t, browser.post("/access/sign-out", nil).body, "You have signed out")
	require.Empty(t, browser.http.Jar.Cookies(at))
	_, err = server.whoami(t, second.http, "")
	require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err), "the session has ended, not only the cookie: %v", err)
}
