package manager_test

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access"
	accessv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1/accessv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/auth"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/auth/authconnect"
	"github.com/flyte-binary/flyte-binary/internal/test/certtest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

const password = "correct horse"

// closedServer is a server in which people have to sign in, over TLS.
type closedServer struct {
	url       string
	authority *certtest.Authority
}

func startSignIn(t *testing.T, change func(*configuration.Config)) *closedServer {
	t.Helper()
	return startSignInAt(t, nil, change)
}

// startSignInAt is startSignIn with a clock of its own; nil is the machine's.
func startSignInAt(t *testing.T, clk clock.Clock, change func(*configuration.Config)) *closedServer {
	t.Helper()
	s := &closedServer{authority: certtest.New(t)}
	config, dir := testConfig(t), t.TempDir()
	config.Server.TLS = configuration.TLSConfig{CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key")}
	s.authority.Issue(t, config.Server.TLS.CertFile, config.Server.TLS.KeyFile)
	config.Access.Local.Enabled, config.Access.Local.AdminPassword = true, password
	config.Access.Local.Accounts = []access.AccountConfig{{Name: "grace", Password: password, DisplayName: "Grace Hopper", Email: "grace@example.com", Groups: []string{"navy"}}}
	if change != nil {
		change(&config)
	}
	plain := startServerAt(t, clk, config, nowhere(t))
	s.url = strings.Replace(plain, "http://127.0.0.1", "https://localhost", 1)
	return s
}

// browser is a client that keeps cookies and does not leave the server: the addresses of clients are returned.
type browser struct {
	t      *testing.T
	server *closedServer
	http   *http.Client
}

func (s *closedServer) browser(t *testing.T) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.authority.Pool}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &browser{t, s, &http.Client{Jar: jar, Transport: transport, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.Path, "/callback") {
			return http.ErrUseLastResponse
		}
		return nil
	}}}
}

// page is what a browser got.
type page struct {
	status   int
	body     string
	header   http.Header
	location *url.URL // of the redirect that was not followed, or of the page
}

func (b *browser) send(request *http.Request) page {
	b.t.Helper()
	response, err := b.http.Do(request)
	require.NoError(b.t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(b.t, err)
	at := response.Request.URL
	if to := response.Header.Get("Location"); to != "" {
		at, err = url.Parse(to)
		require.NoError(b.t, err)
	}
	return page{response.StatusCode, string(body), response.Header, at}
}

func (b *browser) open(address string) page {
	b.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = b.server.url + address
	}
	request, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, address, nil)
	require.NoError(b.t, err)
	return b.send(request)
}

func (b *browser) post(path string, form url.Values) page {
	b.t.Helper()
	request, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.server.url+path, strings.NewReader(form.Encode()))
	require.NoError(b.t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	return b.send(request)
}

// field is the value of a hidden field of a page.
func (p page) field(t *testing.T, name string) string {
	t.Helper()
	found := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(p.body)
	require.NotNil(t, found, p.body)
	return found[1]
}

// signIn signs in with a local account.
func (b *browser) signIn(name string) page {
	b.t.Helper()
	return b.post("/access/sign-in", url.Values{"name": {name}, "password": {password}})
}

// as is a client of the identity service with a token.
func (s *closedServer) whoami(t *testing.T, client *http.Client, token string) (*auth.UserInfoResponse, error) {
	t.Helper()
	return authconnect.NewIdentityServiceClient(bearerClient{client, token}, s.url).UserInfo(t.Context(), &auth.UserInfoRequest{})
}

// bearerClient presents a token; none if it is empty.
type bearerClient struct {
	*http.Client
	token string
}

// Do implements connect.HTTPClient.
func (c bearerClient) Do(request *http.Request) (*http.Response, error) {
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	return c.Client.Do(request)
}

// tokens is the answer of the token endpoint.
type tokens struct {
	Access      string `json:"access_token"`
	Refresh     string `json:"refresh_token"`
	Expires     int    `json:"expires_in"`
	Error       string `json:"error"`
	Description string `json:"error_description"`
	Device      string `json:"device_code"`
	UserCode    string `json:"user_code"`
	Complete    string `json:"verification_uri_complete"`
}

// ask calls an endpoint of the authorization server as a program does.
func (b *browser) ask(endpoint string, form url.Values) tokens {
	b.t.Helper()
	request, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	require.NoError(b.t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer := b.send(request)
	var got tokens
	require.NoError(b.t, json.Unmarshal([]byte(answer.body), &got), answer.body)
	require.Equal(b.t, got.Error == "", answer.status == http.StatusOK, answer.body)
	return got
}

// commandLine is a client that signs in as the SDK does.
type commandLine struct {
	*browser
	meta     *auth.GetOAuth2MetadataResponse
	config   *auth.GetPublicClientConfigResponse
	verifier string
}

func (b *browser) commandLine() *commandLine {
	b.t.Helper()
	service := authconnect.NewAuthMetadataServiceClient(b.http, b.server.url)
	meta, err := service.GetOAuth2Metadata(b.t.Context(), &auth.GetOAuth2MetadataRequest{})
	require.NoError(b.t, err)
	config, err := service.GetPublicClientConfig(b.t.Context(), &auth.GetPublicClientConfigRequest{})
	require.NoError(b.t, err)
	return &commandLine{b, meta, config, strings.Repeat("verifier", 6)}
}

func (c *commandLine) parameters() url.Values {
	sum := sha256.Sum256([]byte(c.verifier))
	return url.Values{
		"client_id": {c.config.GetClientId()}, "response_type": {"code"}, "scope": {strings.Join(c.config.GetScopes(), " ")}, "state": {"the state"},
		"redirect_uri": {c.config.GetRedirectUri()}, "audience": {c.config.GetAudience()},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}
}

// exchange trades the code that came to the callback for tokens, with all the parameters that the SDK repeats.
func (c *commandLine) exchange(callback *url.URL) tokens {
	c.t.Helper()
	require.Equal(c.t, "localhost:53593/callback", callback.Host+callback.Path)
	require.Equal(c.t, "the state", callback.Query().Get("state"))
	form := c.parameters()
	form.Set("grant_type", "authorization_code")
	form.Set("code", callback.Query().Get("code"))
	form.Set("code_verifier", c.verifier)
	return c.ask(c.meta.GetTokenEndpoint(), form)
}

// TestSigningInByCode goes through the sign-in of the command line with a local account: page, code, tokens, refresh, sign-out.
func TestSigningInByCode(t *testing.T) {
	server := startSignIn(t, nil)
	browser := server.browser(t)
	_, err := server.whoami(t, browser.http, "")
	require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err), "%v", err)
	_, err = server.whoami(t, browser.http, "nonsense")
	require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err), "%v", err)

	client := browser.commandLine()
	shown := browser.open(client.meta.GetAuthorizationEndpoint() + "?" + client.parameters().Encode())
	require.Equal(t, http.StatusOK, shown.status, shown.body)
	require.Contains(t, shown.header.Get("Content-Security-Policy"), "default-src 'none'")
	require.Contains(t, shown.header.Get("Content-Security-Policy"), "form-action 'self' http://localhost:53593;", "or the browser does not follow to the client")
	request := shown.field(t, "request")
	wrong := browser.post("/access/sign-in", url.Values{"name": {"grace"}, "password": {"wrong"}, "request": {request}})
	require.Equal(t, http.StatusUnauthorized, wrong.status)
	require.Contains(t, wrong.body, "The name or the password is wrong.")
	back := browser.post("/access/sign-in", url.Values{"name": {"grace"}, "password": {password}, "request": {wrong.field(t, "request")}})
	require.Equal(t, http.StatusSeeOther, back.status, back.body)
	got := client.exchange(back.location)
	require.Empty(t, got.Error, got.Description)
	require.Equal(t, 3600, got.Expires)
	program := server.browser(t).http
	who, err := server.whoami(t, program, got.Access)
	require.NoError(t, err)
	require.Equal(t, []string{"grace", "Grace Hopper", "grace@example.com"}, []string{who.GetSubject(), who.GetName(), who.GetEmail()})

	require.Equal(t, "invalid_grant", client.exchange(back.location).Error, "a code is used once")
	again := browser.ask(client.meta.GetTokenEndpoint(), url.Values{"grant_type": {"refresh_token"}, "refresh_token": {got.Refresh}, "client_id": {client.config.GetClientId()}})
	_, err = server.whoami(t, program, again.Access)
	require.NoError(t, err)
	browser.post("/access/oauth2/revoke", url.Values{"token": {got.Refresh}, "client_id": {client.config.GetClientId()}})
	_, err = server.whoami(t, program, got.Access)
	require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "the session has ended")

	// The browser stays signed in, so that the next client needs a click.
	shown = browser.open(client.meta.GetAuthorizationEndpoint() + "?" + client.parameters().Encode())
	require.Contains(t, shown.body, "asks to act as <b>Grace Hopper (grace)</b>")
	back = browser.post("/access/approve", url.Values{"request": {shown.field(t, "request")}, "answer": {"allow"}})
	require.Empty(t, client.exchange(back.location).Error)
	shown = browser.open(client.meta.GetAuthorizationEndpoint() + "?" + client.parameters().Encode())
	back = browser.post("/access/approve", url.Values{"request": {shown.field(t, "request")}, "answer": {"deny"}})
	require.Equal(t, "access_denied", back.location.Query().Get("error"))
}

// TestACodeIsForItsClientAlone presents codes wrongly.
func TestACodeIsForItsClientAlone(t *testing.T) {
	server := startSignIn(t, nil)
	browser := server.browser(t)
	client := browser.commandLine()
	authorize := func(change func(url.Values)) page {
		parameters := client.parameters()
		change(parameters)
		return browser.open(client.meta.GetAuthorizationEndpoint() + "?" + parameters.Encode())
	}
	for name, change := range map[string]func(url.Values){
		"another client":       func(v url.Values) { v.Set("client_id", "evil") },
		"another address":      func(v url.Values) { v.Set("redirect_uri", "https://evil.example/callback") },
		"another path":         func(v url.Values) { v.Set("redirect_uri", "http://localhost:53593/elsewhere") },
		"no challenge":         func(v url.Values) { v.Del("code_challenge") },
		"a plain challenge":    func(v url.Values) { v.Set("code_challenge_method", "plain") },
		"tokens in the answer": func(v url.Values) { v.Set("response_type", "token") },
	} {
		require.Equal(t, http.StatusBadRequest, authorize(change).status, name)
	}
	shown := authorize(func(v url.Values) { v.Set("redirect_uri", "http://127.0.0.1:9/callback") })
	require.Equal(t, http.StatusOK, shown.status, "a native client chooses its port")

	browser.signIn("grace")
	code := func() *url.URL {
		shown := authorize(func(url.Values) {})
		return browser.post("/access/approve", url.Values{"request": {shown.field(t, "request")}, "answer": {"allow"}}).location
	}
	client.verifier = strings.Repeat("forgotten", 6)
	callback := code()
	client.verifier = strings.Repeat("guessed--", 6)
	require.Equal(t, "invalid_grant", client.exchange(callback).Error)
	client.verifier = strings.Repeat("forgotten", 6)
	require.Equal(t, "invalid_grant", client.exchange(callback).Error, "a wrong verifier has used it up")
}

// TestSignInsThatBeginCountForTheirAddress: what anybody can begin is bounded by the address of the client.
func TestSignInsThatBeginCountForTheirAddress(t *testing.T) {
	var database string
	server := startSignIn(t, func(c *configuration.Config) { database = c.Database.URL })
	client := server.browser(t).commandLine()
	client.ask(client.meta.GetDeviceAuthorizationEndpoint(), url.Values{"client_id": {client.config.GetClientId()}})
	client.open(client.meta.GetAuthorizationEndpoint() + "?" + client.parameters().Encode())
	conn, err := pgx.Connect(t.Context(), database)
	require.NoError(t, err)
	defer conn.Close(context.WithoutCancel(t.Context())) //nolint:errcheck // the test is over
	rows, err := conn.Query(t.Context(), `SELECT peer || ' ' || kind FROM access_grants ORDER BY 1`)
	require.NoError(t, err)
	begun, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	for i, row := range begun {
		begun[i] = strings.Replace(row, "::/64", "127.0.0.1", 1) // the network of ::1
	}
	require.Equal(t, []string{"127.0.0.1 device", "127.0.0.1 request", "127.0.0.1 user-code"}, begun)
}

// TestSigningInADevice lets a machine without a browser sign in.
func TestSigningInADevice(t *testing.T) {
	server := startSignIn(t, nil)
	browser := server.browser(t)
	client := server.browser(t).commandLine()
	id := url.Values{"client_id": {client.config.GetClientId()}}
	poll := func(device string) tokens {
		return client.ask(client.meta.GetTokenEndpoint(), url.Values{
			"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "client_id": id["client_id"], "device_code": {device},
		})
	}
	for answer, want := range map[string]string{"allow": "", "deny": "access_denied"} {
		waiting := client.ask(client.meta.GetDeviceAuthorizationEndpoint(), id)
		require.Equal(t, "authorization_pending", poll(waiting.Device).Error)
		shown := browser.open(waiting.Complete)
		if !strings.Contains(shown.body, "Let a device sign in") { // the person signs in first, and comes back
			to := shown.field(t, "return")
			require.Contains(t, to, waiting.UserCode)
			shown = browser.post("/access/sign-in", url.Values{"name": {"grace"}, "password": {password}, "return": {to}})
		}
		require.Contains(t, shown.body, waiting.UserCode)
		browser.post("/access/device", url.Values{"user_code": {strings.ToLower(strings.ReplaceAll(waiting.UserCode, "-", " "))}, "answer": {answer}})
		got := poll(waiting.Device)
		require.Equal(t, want, got.Error)
		if want == "" {
			who, err := server.whoami(t, client.http, got.Access)
			require.NoError(t, err)
			require.Equal(t, "grace", who.GetSubject())
			require.Equal(t, "expired_token", poll(waiting.Device).Error, "a device signs in once")
		}
	}
	require.Equal(t, http.StatusNotFound, browser.post("/access/device", url.Values{"user_code": {"BBBB-BBBB"}, "answer": {"allow"}}).status)
}

// TestSigningInWithAKey lets a program sign in by client credentials: with the key of an API key and its secret.
func TestSigningInWithAKey(t *testing.T) {
	server := startSignIn(t, nil)
	admin := server.browser(t)
	admin.signIn("admin")
	keys := accessv1connect.NewKeyServiceClient(admin.http, server.url)
	made, err := keys.CreateKey(t.Context(), &accessv1.CreateKeyRequest{
		Name: "a pipeline", Roles: []*accessv1.KeyRole{{Role: "viewer", Scope: &accessv1.Scope{}}},
	})
	require.NoError(t, err)
	require.Empty(t, made.GetFlyteApiKey(), "the SDK would send the secret to port 443")

	program := server.browser(t)
	client := program.commandLine()
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {made.GetKey().GetId()}, "client_secret": {made.GetSecret()}, "scope": {"all"}}
	credentials := func(id, secret string) tokens {
		form := url.Values{"grant_type": {"client_credentials"}, "scope": {"all"}, "audience": {"flyte-binary"}}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, client.meta.GetTokenEndpoint(), strings.NewReader(form.Encode()))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.SetBasicAuth(url.QueryEscape(id), url.QueryEscape(secret))
		var got tokens
		require.NoError(t, json.Unmarshal([]byte(program.send(request).body), &got))
		return got
	}
	require.Empty(t, client.ask(client.meta.GetTokenEndpoint(), form).Error, "in the form, too")
	require.Equal(t, "invalid_client", credentials(made.GetKey().GetId(), "wrong").Error)
	require.Equal(t, "invalid_client", credentials("flyte-cli-2", made.GetSecret()).Error)
	require.NotEmpty(t, credentials("flyte-cli", "").Error, "the command line cannot act for itself")
	got := credentials(made.GetKey().GetId(), made.GetSecret())
	require.Empty(t, got.Error, got.Description)
	for _, token := range []string{got.Access, made.GetSecret()} {
		who, err := server.whoami(t, program.http, token)
		require.NoError(t, err)
		require.Equal(t, made.GetKey().GetId(), who.GetSubject())
	}
	_, err = keys.RevokeKey(t.Context(), &accessv1.RevokeKeyRequest{Id: made.GetKey().GetId()})
	require.NoError(t, err)
	for _, token := range []string{got.Access, made.GetSecret()} {
		_, err := server.whoami(t, program.http, token)
		require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err), "%v", err)
	}
	require.Equal(t, "invalid_client", credentials(made.GetKey().GetId(), made.GetSecret()).Error)
}

// TestAPortForOthersNeedsAnAuthenticator binds addresses that other machines reach.
func TestAPortForOthersNeedsAnAuthenticator(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*configuration.Config)
		want   string
	}{
		"nothing said":   {func(*configuration.Config) {}, "server.listen: other machines can reach "},
		"open":           {func(c *configuration.Config) { c.Access.Open = true }, ""},
		"local accounts": {func(c *configuration.Config) { c.Access.Local.Enabled, c.Access.Local.AdminPassword = true, password }, ""},
		"loopback":       {func(c *configuration.Config) { c.Server.Listen = "127.0.0.1:0" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			config := testConfig(t)
			config.Server.Listen = "0.0.0.0:0"
			c.change(&config)
			server, err := manager.Complete(t.Context(), config, manager.Options{REST: nowhere(t)})
			if c.want == "" {
				require.NoError(t, err)
				require.NoError(t, server.Stop(t.Context()))
				return
			}
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "access.open: true")
		})
	}
}

// TestSignInsAreRecorded finds who signed in and out, and who could not, in the record of what was done.
func TestSignInsAreRecorded(t *testing.T) {
	server := startSignIn(t, nil)
	grace, admin := server.browser(t), server.browser(t)
	grace.post("/access/sign-in", url.Values{"name": {"grace"}, "password": {"wrong guess"}})
	grace.signIn("grace")
	grace.post("/access/sign-out", nil)
	admin.signIn("admin")
	audit := accessv1connect.NewAuditServiceClient(admin.http, server.url)
	require.Eventually(t, func() bool {
		found, err := audit.SearchAudit(t.Context(), &accessv1.SearchAuditRequest{Permission: "identity.authenticate"})
		require.NoError(t, err)
		var done []string
		for _, event := range found.GetEvents() {
			done = append(done, event.GetSubject()+" "+event.GetProcedure()+" "+event.GetOutcome())
			require.NotContains(t, event.String(), "wrong guess")
		}
		slices.Sort(done)
		return slices.Equal(done, []string{
			" /access/sign-in refused", "admin /access/sign-in succeeded", "grace /access/sign-in succeeded", "grace /access/sign-out succeeded",
		})
	}, 30*time.Second, 100*time.Millisecond)
}
