package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/apps/gateway"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
)

// mirror answers with the headers that it got, and its host.
func mirror(w http.ResponseWriter, r *http.Request) {
	got := map[string]string{"Host": r.Host}
	for name, values := range r.Header {
		got[name] = strings.Join(values, "|")
	}
	_ = json.NewEncoder(w).Encode(got)
}

func mirrored(t *testing.T, body string) map[string]string {
	t.Helper()
	var got map[string]string
	require.NoError(t, json.Unmarshal([]byte(body), &got), body)
	return got
}

func TestAppsLearnTheAddressAndTheCaller(t *testing.T) {
	f := start(t, newApps(route("one", replica(t, mirror))), options{signin: true, config: func(c *gateway.Config) {
		c.TrustedProxies = nil
	}})
	_, _, body := f.get(t, "/apps/p/d/one/x", map[string]string{
		"X-Flyte-Subject": "eve", "X-Flyte-Anything": "x", "x-flyte-internal-token": "internal", "Authorization": "Bearer of-the-app",
		"Cookie":          "flyte-session=s1; a=b; __Host-flyte-session-8443=s2;c=d",
		"X-Forwarded-For": "6.6.6.6", "X-Forwarded-Prefix": "/evil", "X-Forwarded-Proto": "https", "Forwarded": "for=6.6.6.6", "X-Real-Ip": "6.6.6.6",
		"Connection": "X-Flyte-Caller, X-Forwarded-Host", "Accept-Encoding": "identity",
	})
	got := mirrored(t, body)
	require.Equal(t, "internal", got["X-Flyte-Caller"], "the token is the gateway's, and makes a service of its holder")
	require.Equal(t, "internal", got["X-Flyte-Subject"])
	require.NotContains(t, got, "X-Flyte-Internal-Token")
	require.NotContains(t, got, "X-Flyte-Anything")
	require.NotContains(t, got, "Forwarded")
	require.NotContains(t, got, "X-Real-Ip")
	require.Equal(t, "Bearer of-the-app", got["Authorization"])
	require.Equal(t, "a=b;c=d", got["Cookie"], "without those of the console")
	require.Equal(t, "127.0.0.1", got["X-Forwarded-For"])
	require.Equal(t, f.host, got["X-Forwarded-Host"])
	require.Equal(t, f.host, got["Host"])
	require.Equal(t, "http", got["X-Forwarded-Proto"])
	require.Equal(t, "/apps/p/d/one", got["X-Forwarded-Prefix"])
	require.Equal(t, "identity", got["Accept-Encoding"])

	_, _, body = f.get(t, "/", map[string]string{"Host": "one-0a1b2c3d.localhost", "Authorization": "Bearer ada", "X-Flyte-Email": "eve@example.com"})
	got = mirrored(t, body)
	require.Equal(t, "user", got["X-Flyte-Caller"])
	require.Equal(t, "ada", got["X-Flyte-Subject"])
	require.Equal(t, "ada@example.com", got["X-Flyte-Email"])
	require.Equal(t, "Ada%20L%C3%B6velace", got["X-Flyte-Name"])
	require.NotContains(t, got, "X-Forwarded-Prefix")

	_, _, body = f.get(t, "/apps/p/d/one/", map[string]string{"Authorization": "Bearer of-the-app", "X-Flyte-Subject": "eve"})
	got = mirrored(t, body)
	require.Equal(t, "anonymous", got["X-Flyte-Caller"], "the credential is the app's business")
	require.NotContains(t, got, "X-Flyte-Subject")
}

func TestProxiesThatAreTrusted(t *testing.T) {
	f := start(t, newApps(route("one", replica(t, mirror))), options{config: func(c *gateway.Config) {
		c.TrustedProxies = []string{"127.0.0.0/8", "10.0.0.0/8"}
	}})
	_, _, body := f.get(t, "/apps/p/d/one/", map[string]string{"X-Forwarded-For": "6.6.6.6, 7.7.7.7, 10.1.1.1", "X-Forwarded-Proto": "https"})
	got := mirrored(t, body)
	require.Equal(t, "6.6.6.6, 7.7.7.7, 10.1.1.1, 127.0.0.1", got["X-Forwarded-For"])
	require.Equal(t, "https", got["X-Forwarded-Proto"])
}

func TestWhoMayCall(t *testing.T) {
	backend := replica(t, says("served"))
	closed := changed(route("closed", backend), func(r *enginev1.AppRoute) { r.AllowAnonymous = false })
	private := changed(route("private", backend), func(r *enginev1.AppRoute) { r.Private = true })
	all := func() *apps { return newApps(route("public", backend), closed, private) }
	signin := start(t, all(), options{signin: true})
	open := start(t, all(), options{config: func(c *gateway.Config) { c.InternalNetworks = nil }})
	proxied := start(t, all(), options{config: func(c *gateway.Config) { c.TrustedProxies = []string{"127.0.0.1/32"} }})
	const foreign, same = "cross-site", "same-origin"
	for _, c := range []struct {
		name   string
		f      *fixture
		app    string
		method string
		header map[string]string
		want   int
	}{
		{"anybody", signin, "public", "GET", nil, 200},
		{"a credential of the app", signin, "public", "GET", map[string]string{"Authorization": "Bearer x"}, 200},
		{"nobody is signed in", signin, "closed", "GET", nil, 401},
		{"a wrong credential", signin, "closed", "GET", map[string]string{"Authorization": "Bearer x"}, 401},
		{"a user", signin, "closed", "GET", map[string]string{"Authorization": "Bearer ada"}, 200},
		{"no authentication at all", open, "closed", "GET", nil, 200},

		{"this machine", signin, "private", "GET", nil, 200},
		{"another machine", open, "private", "GET", nil, 403},
		{"a user of another machine", open, "private", "GET", map[string]string{"Authorization": "Bearer ada"}, 403},
		{"through an unknown proxy", signin, "private", "GET", map[string]string{"X-Forwarded-For": "127.0.0.1"}, 403},
		{"a task elsewhere", signin, "private", "GET", map[string]string{"X-Forwarded-For": "6.6.6.6", "Authorization": "Bearer t"}, 200},
		{"through a proxy from outside", proxied, "private", "GET", map[string]string{"X-Forwarded-For": "127.0.0.1, 6.6.6.6"}, 403},
		{"through a proxy from inside", proxied, "private", "GET", map[string]string{"X-Forwarded-For": "127.0.0.2"}, 200},

		{"a foreign page reads", open, "closed", "GET", map[string]string{"Sec-Fetch-Site": foreign, "Origin": "https://evil.example"}, 200},
		{"a foreign page writes", open, "closed", "POST", map[string]string{"Sec-Fetch-Site": foreign, "Origin": "https://evil.example"}, 403},
		{"a foreign page in an old browser", open, "closed", "POST", map[string]string{"Origin": "https://evil.example"}, 403},
		{"a foreign page opens a WebSocket", open, "closed", "GET", map[string]string{"Origin": "null", "Connection": "Upgrade", "Upgrade": "websocket"}, 403},
		{"its own page writes", open, "closed", "POST", map[string]string{"Sec-Fetch-Site": same, "Origin": "http://" + open.host}, 200},
		{"its own page in an old browser", open, "closed", "POST", map[string]string{"Origin": "http://" + open.host}, 200},
		{"a foreign page and an app for everybody", open, "public", "POST", map[string]string{"Sec-Fetch-Site": foreign, "Origin": "https://evil.example"}, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, _, body := c.f.do(t, c.method, "/apps/p/d/"+c.app+"/", nil, c.header)
			require.Equal(t, c.want, status, body)
		})
	}
	const warning = "apps that require a caller are open to everyone"
	require.Equal(t, 1, strings.Count(open.log.String(), warning), "said once")
	require.NotContains(t, signin.log.String(), warning)
}

func TestAnswersFitTheAddress(t *testing.T) {
	answer := func(w http.ResponseWriter, r *http.Request) {
		for name, values := range r.URL.Query() {
			for _, value := range values {
				w.Header().Add(name, strings.ReplaceAll(value, "REPLICA", r.Context().Value(http.LocalAddrContextKey).(fmt.Stringer).String()))
			}
		}
		w.WriteHeader(http.StatusFound)
	}
	f := start(t, newApps(route("one", replica(t, answer))), options{config: func(c *gateway.Config) { c.Domain = "" }})
	ask := func(name, value string, header map[string]string) http.Header {
		query := "?" + strings.NewReplacer("%", "%25", ";", "%3B", " ", "%20", "#", "%23", "&", "%26", "+", "%2B").Replace(name+"="+value)
		_, got, _ := f.get(t, "/apps/p/d/one/x"+query, header)
		return got
	}
	for value, want := range map[string]string{
		"/login":                      "/apps/p/d/one/login",
		"/a%2Fb?next=/c#top":          "/apps/p/d/one/a%2Fb?next=/c#top",
		"/":                           "/apps/p/d/one/",
		"/apps/p/d/one/there":         "/apps/p/d/one/there",
		"/apps/p/d/oneself":           "/apps/p/d/one/apps/p/d/oneself",
		"next":                        "next",
		"?page=2":                     "?page=2",
		"http://" + f.host + "/login": "/apps/p/d/one/login",
		"http://REPLICA/login?x=1":    "/apps/p/d/one/login?x=1",
		"http://REPLICA":              "/apps/p/d/one/",
		"https://other.example/x":     "https://other.example/x",
		"//other.example/x":           "//other.example/x",
		"mailto:a@example.com":        "mailto:a@example.com",
		"/\\evil.example":             "/apps/p/d/one/%5Cevil.example",
		"http://[":                    "/apps/p/d/one/",
	} {
		require.Equal(t, want, ask("Location", value, nil).Get("Location"), value)
	}
	for value, want := range map[string]string{
		"a=b":                                   "a=b; Path=/apps/p/d/one",
		"a=b; Path=/; HttpOnly; SameSite=Lax":   "a=b; HttpOnly; SameSite=Lax; Path=/apps/p/d/one",
		"a=b; path=/sub; Domain=localhost":      "a=b; Path=/apps/p/d/one/sub",
		"a=b; Path=/apps/p/d/one/x; Secure":     "a=b; Secure; Path=/apps/p/d/one/x",
		"a=b; Path=/apps/p/d/other":             "a=b; Path=/apps/p/d/one/apps/p/d/other",
		"a=b; Path=x; Partitioned; Max-Age=100": "a=b; Partitioned; Max-Age=100; Path=/apps/p/d/one",
	} {
		require.Equal(t, want, ask("Set-Cookie", value, nil).Get("Set-Cookie"), value)
	}
	for _, name := range []string{"Clear-Site-Data", "Service-Worker-Allowed", "Strict-Transport-Security", "Alt-Svc", "X-Flyte-Subject"} {
		require.Empty(t, ask(name, "x", nil).Get(name))
	}
	got := ask("Content-Security-Policy", "default-src 'self'", nil).Values("Content-Security-Policy")
	require.Len(t, got, 2, "both hold")
	require.Contains(t, got[1], "sandbox ")
	require.NotContains(t, got[1], "allow-same-origin")
}

func TestAnswersOfAppsWithAHost(t *testing.T) {
	answer := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/login")
		w.Header().Set("Set-Cookie", "a=b; Domain=localhost; Path=/x")
		w.Header().Set("Service-Worker-Allowed", "/")
	}
	trusted := start(t, newApps(route("one", replica(t, answer))), options{config: func(c *gateway.Config) { c.Pages = "trusted" }})
	_, header, _ := trusted.get(t, "/", map[string]string{"Host": "one-0a1b2c3d.localhost"})
	require.Equal(t, "/login", header.Get("Location"))
	require.Equal(t, "a=b; Path=/x", header.Get("Set-Cookie"), "only for this host")
	require.Equal(t, "/", header.Get("Service-Worker-Allowed"))
	require.Empty(t, header.Get("Content-Security-Policy"))
	_, header, _ = trusted.get(t, "/apps/p/d/one/", nil)
	require.Empty(t, header.Get("Content-Security-Policy"), "as configured")
}

func TestBrowsersAreSentToTheHost(t *testing.T) {
	backend := replica(t, says("page"))
	f := start(t, newApps(route("one", backend), changed(route("none", backend), func(r *enginev1.AppRoute) { r.Subdomain = "" })), options{})
	_, port, _ := strings.Cut(f.host, ":")
	navigate := map[string]string{"Sec-Fetch-Mode": "navigate", "Host": "localhost:" + port}
	with := func(name, value string) map[string]string {
		header := map[string]string{name: value}
		for k, v := range navigate {
			if _, ok := header[k]; !ok {
				header[k] = v
			}
		}
		return header
	}
	for _, c := range []struct {
		path   string
		header map[string]string
		want   string
	}{
		{"/apps/p/d/one/docs/a%2Fb?x=1", navigate, "http://one-0a1b2c3d.localhost:" + port + "/docs/a%2Fb?x=1"},
		{"/apps/p/d/one", navigate, "http://one-0a1b2c3d.localhost:" + port + "/"},
		{"/apps/p/d/one//evil.example/", navigate, "http://one-0a1b2c3d.localhost:" + port + "//evil.example/"},
		{"/apps/p/d/one/", map[string]string{"Accept": "text/html,*/*", "Host": "localhost"}, "http://one-0a1b2c3d.localhost/"},
		{"/apps/p/d/one/", with("Sec-Fetch-Mode", "cors"), ""},
		{"/apps/p/d/one/", map[string]string{"Accept": "*/*"}, ""},
		{"/apps/p/d/one/", with("Host", "192.168.1.2"), ""}, // another machine, for which localhost is itself
		{"/apps/p/d/one?x=1", with("Host", "192.168.1.2"), "/apps/p/d/one/?x=1"},
		{"/apps/p/d/none", navigate, "/apps/p/d/none/"},
		{"/apps/p/d/none/", navigate, ""},
	} {
		status, header, _ := f.get(t, c.path, c.header)
		require.Equal(t, c.want, header.Get("Location"), c.path)
		require.Equal(t, c.want != "", status == http.StatusTemporaryRedirect)
	}
}

// TestHeadersOfAProxyAreHidden: what a proxy tells the installation about people is not for apps, however a client spells it.
func TestHeadersOfAProxyAreHidden(t *testing.T) {
	f := start(t, newApps(route("one", replica(t, mirror))), options{deps: func(d *gateway.Deps) { d.Hidden = []string{"X-Example-Jwt-Assertion"} }})
	_, _, body := f.get(t, "/apps/p/d/one/", map[string]string{
		"X-Example-Jwt-Assertion": "a", "X_example_jwt_Assertion": "b", "Cookie": "CF_Authorization=a; _oauth2_proxy_0=b; mine=c; _pomerium=d",
	})
	got := mirrored(t, body)
	require.Equal(t, "mine=c", got["Cookie"])
	for name := range got {
		require.NotContains(t, strings.ToLower(name), "assertion")
	}
}
