package manager_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access"
	accessv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1/accessv1connect"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app/appconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// appServer is a server whose apps have hosts of their own.
type appServer struct {
	*closedServer
	port string
}

func startWithApps(t *testing.T, change func(*configuration.Config)) *appServer {
	t.Helper()
	closed := startSignIn(t, func(c *configuration.Config) {
		c.Gateway.Domain, c.Auth.InternalToken = "localhost", "internal"
		c.Access.Local.Accounts = append(c.Access.Local.Accounts, access.AccountConfig{Name: "eve", Password: password})
		c.Access.Bindings = []access.BindingConfig{{User: "grace", Role: "viewer", Project: "flytesnacks"}}
		if change != nil {
			change(c)
		}
	})
	at, err := url.Parse(closed.url)
	require.NoError(t, err)
	return &appServer{closed, at.Port()}
}

// visitor is a browser that knows the hosts of apps, and says what browsers say of a page that a person opens.
func (s *appServer) visitor(t *testing.T) *browser {
	t.Helper()
	b := s.browser(t)
	b.http.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, "127.0.0.1:"+s.port)
	}
	return b
}

// serve deploys an app whose only replica is a handler, and returns its origin.
func (s *appServer) serve(t *testing.T, name string, handler http.HandlerFunc) string {
	t.Helper()
	replica := httptest.NewServer(handler)
	t.Cleanup(replica.Close)
	admin := s.browser(t)
	admin.signIn("admin")
	made, err := appconnect.NewAppServiceClient(admin.http, s.url).Create(t.Context(), &app.CreateRequest{App: &app.App{
		Metadata: &app.Meta{Id: &app.Identifier{Project: "flytesnacks", Domain: "development", Name: name}},
		Spec: &app.Spec{
			AppPayload: &app.Spec_Container{Container: &core.Container{Image: "image:v1", Ports: []*core.ContainerPort{{ContainerPort: 8080}}}},
			Ingress:    &app.IngressConfig{}, SecurityContext: &app.SecurityContext{}, DesiredState: app.Spec_DESIRED_STATE_ACTIVE,
			Autoscaling: &app.AutoscalingConfig{Replicas: &app.Replicas{Min: 1, Max: 1}}, ClusterPool: "default",
		},
	}})
	require.NoError(t, err)
	fleet := enginev1connect.NewAppFleetServiceClient(s.browser(t).http, s.url, rpc.WithInternalToken("internal"))
	watched, err := fleet.WatchApps(t.Context(), &enginev1.WatchAppsRequest{})
	require.NoError(t, err)
	defer watched.Close() //nolint:errcheck // the test has read all that it reads
	for watched.Receive() {
		desired := watched.Msg().GetApp()
		if desired.GetId().GetName() != name {
			continue
		}
		_, err := fleet.ReportApps(t.Context(), &enginev1.ReportAppsRequest{Apps: []*enginev1.ObservedApp{{
			Uid: desired.GetUid(), Applied: desired.GetVersion(), Namespace: "ns", Revisions: []*enginev1.ObservedRevision{{
				Revision: 1, Wanted: 1, Replicas: []*enginev1.ObservedReplica{{
					Name: name + "-1", Address: replica.Listener.Addr().String(), Ready: true, Phase: "Running", Container: "app",
				}},
			}},
		}}})
		require.NoError(t, err)
		break
	}
	require.NoError(t, watched.Err())
	explained, err := insightv1connect.NewAppInsightServiceClient(admin.http, s.url).ExplainApp(t.Context(), &insightv1.ExplainAppRequest{AppId: made.GetApp().GetMetadata().GetId()})
	require.NoError(t, err)
	return explained.GetHostUrl()
}

// visit sends a request as a page that a person opens, or as a program.
func (b *browser) visit(address string, header map[string]string, follow bool) page {
	b.t.Helper()
	request, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, address, nil)
	require.NoError(b.t, err)
	for name, value := range header {
		request.Header[name] = []string{value}
	}
	if follow {
		return b.send(request)
	}
	still := *b.http
	still.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return (&browser{b.t, b.server, &still}).send(request)
}

func opened(more ...string) map[string]string {
	header := map[string]string{"Accept": "text/html", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
	for i := 0; i+1 < len(more); i += 2 {
		header[more[i]] = more[i+1]
	}
	return header
}

// mirrorRequest answers with what an app got: its path and its headers.
func mirrorRequest(w http.ResponseWriter, r *http.Request) {
	got := map[string]string{"path": r.RequestURI}
	for name, values := range r.Header {
		got[strings.ToLower(strings.ReplaceAll(name, "_", "-"))] += strings.Join(values, "|")
	}
	_ = json.NewEncoder(w).Encode(got)
}

func (p page) mirrored(t *testing.T) map[string]string {
	t.Helper()
	var got map[string]string
	require.NoError(t, json.Unmarshal([]byte(p.body), &got), "%d %s", p.status, p.body)
	return got
}

// TestBrowsersSignInAtTheHostsOfApps takes a browser from the host of an app to the sign-in and back, and tries what it gets elsewhere.
func TestBrowsersSignInAtTheHostsOfApps(t *testing.T) {
	server := startWithApps(t, nil)
	one, two := server.serve(t, "one", mirrorRequest), server.serve(t, "two", mirrorRequest)
	grace := server.visitor(t)
	require.Eventually(t, func() bool { return grace.visit(one, nil, false).status == http.StatusUnauthorized }, 30*time.Second, 20*time.Millisecond,
		"programs get 401")
	require.Equal(t, http.StatusUnauthorized, grace.visit(one, opened("Authorization", "Bearer wrong"), false).status)
	require.Equal(t, http.StatusUnauthorized, grace.visit(one, opened("Sec-Fetch-Dest", "iframe"), false).status)

	shown := grace.visit(one+"/docs/a%2Fb?x=1", opened("X-Flyte-Identity", "forged", "X_Flyte_Identity", "forged", "X-Flyte-Subject", "eve"), true)
	require.Equal(t, "/access/sign-in", shown.location.Path)
	require.Contains(t, shown.header.Get("Content-Security-Policy"), "form-action 'self' "+one+";", "else browsers do not follow the redirects of the form")
	back := shown.field(t, "return")
	arrived := grace.post("/access/sign-in", url.Values{"name": {"grace"}, "password": {password}, "return": {strings.ReplaceAll(back, "&amp;", "&")}})
	require.Equal(t, one+"/docs/a%2Fb?x=1", arrived.location.String())
	got := arrived.mirrored(t)
	require.Equal(t, "/docs/a%2Fb?x=1", got["path"])
	require.Equal(t, "grace", got["x-flyte-subject"])
	require.NotContains(t, got, "cookie", "neither the session of the console nor that at the app reaches the app")

	forged := opened("X-Flyte-Identity", "forged", "X_Flyte_Identity", "forged", "x-flyte-identity", "forged")
	identity := grace.visit(one, forged, false).mirrored(t)["x-flyte-identity"]
	server.requireAssertion(t, identity, "flytesnacks/development/one")

	at, err := url.Parse(one)
	require.NoError(t, err)
	cookies := grace.http.Jar.Cookies(at)
	require.Len(t, cookies, 1, "that of the sign-in is gone")
	require.Equal(t, "__Host-flyte-app-"+server.port, cookies[0].Name)
	elsewhere := func(origin string, cookie *http.Cookie) int {
		other := server.visitor(t)
		to, err := url.Parse(origin)
		require.NoError(t, err)
		other.http.Jar.SetCookies(to, []*http.Cookie{cookie})
		return other.visit(origin, nil, false).status
	}
	require.Equal(t, http.StatusOK, elsewhere(one, cookies[0]))
	require.Equal(t, http.StatusUnauthorized, elsewhere(two, cookies[0]), "the session is for one app")
	require.Equal(t, http.StatusUnauthorized, elsewhere(server.url+"/apps/flytesnacks/development/one/", &http.Cookie{
		Name: "__Host-flyte-session-" + server.port, Value: cookies[0].Value, Secure: true, Path: "/",
	}), "and not for the installation")
	for _, token := range []string{identity, cookies[0].Value} {
		_, err := server.whoami(t, server.browser(t).http, token)
		require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err), "%v", err)
		require.Equal(t, http.StatusUnauthorized, server.visitor(t).visit(two, map[string]string{"Authorization": "Bearer " + token}, false).status)
	}
	require.Equal(t, http.StatusUnauthorized, grace.visit(one, map[string]string{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}, false).status,
		"a page of another app cannot use the session")
	require.Equal(t, http.StatusOK, grace.visit(one, opened("Sec-Fetch-Site", "cross-site"), false).status, "a link can")

	require.Equal(t, "two", strings.SplitN(grace.visit(two+"/", opened(), true).location.Host, "-", 2)[0], "who is signed in gets to the next app at once")
	grace.post("/access/sign-out", nil)
	require.Equal(t, http.StatusUnauthorized, grace.visit(one, nil, false).status, "the session ends with that of the console")
	require.Equal(t, "/access/sign-in", grace.visit(one, opened(), true).location.Path)
}

// TestACodeIsForOneBrowserAndOnce tries codes that are another browser's, and those that were used.
func TestACodeIsForOneBrowserAndOnce(t *testing.T) {
	server := startWithApps(t, nil)
	one := server.serve(t, "one", mirrorRequest)
	grace, eve := server.visitor(t), server.visitor(t)
	grace.signIn("grace")
	eve.signIn("eve")
	require.Eventually(t, func() bool { return grace.visit(one, nil, false).status == http.StatusUnauthorized }, 30*time.Second, 20*time.Millisecond)
	code := func(b *browser) string {
		to := b.visit(one+"/x", opened(), false)
		require.Equal(t, http.StatusSeeOther, to.status)
		entry := b.visit(to.location.String(), opened("Sec-Fetch-Site", "same-site"), false)
		require.Equal(t, http.StatusSeeOther, entry.status, entry.body)
		require.True(t, strings.HasPrefix(entry.location.String(), one+"/.flyte/enter?code="), entry.location)
		return entry.location.String()
	}
	stolen := code(grace)
	eve.visit(one, opened(), false) // eve has a sign-in of her own there
	require.Equal(t, http.StatusUnauthorized, eve.visit(stolen, opened(), false).status, "it is another browser's")
	require.Equal(t, http.StatusUnauthorized, grace.visit(stolen, opened(), false).status, "and used up")

	entry := code(grace)
	require.Equal(t, one+"/x", grace.visit(entry, opened(), false).location.String())
	require.Equal(t, one+"/", grace.visit(entry, opened(), false).location.String(), "who is in stays in")
	require.Equal(t, http.StatusOK, grace.visit(one, nil, false).status)

	denied := eve.visit(one, opened(), true)
	admin := server.browser(t)
	admin.signIn("admin")
	audit := accessv1connect.NewAuditServiceClient(admin.http, server.url)
	require.Eventually(t, func() bool {
		found, err := audit.SearchAudit(t.Context(), &accessv1.SearchAuditRequest{Permission: "app.call", Subject: "eve", Outcome: "refused"})
		require.NoError(t, err)
		return len(found.GetEvents()) > 0 && slices.Contains(found.GetEvents()[0].GetResources(), "app flytesnacks/development/one")
	}, time.Minute, 100*time.Millisecond, "a denied request to an app is recorded")
	require.Equal(t, http.StatusNotFound, denied.status, "a caller without a role gets an answer, not another redirect: %s", denied.body)
	ticket := grace.visit(server.url+"/access/app?ticket=made-up", opened(), false)
	require.Equal(t, http.StatusGone, ticket.status)
}

// TestBrowsersSignInForAppsByPath leads a browser to the sign-in and back to a path of the installation.
func TestBrowsersSignInForAppsByPath(t *testing.T) {
	server := startWithApps(t, func(c *configuration.Config) { c.Gateway.Domain = "" })
	server.serve(t, "one", mirrorRequest)
	grace := server.visitor(t)
	at := server.url + "/apps/flytesnacks/development/one/docs?x=1"
	require.Eventually(t, func() bool { return grace.visit(at, nil, false).status == http.StatusUnauthorized }, 30*time.Second, 20*time.Millisecond)
	shown := grace.visit(at, opened(), true)
	require.Equal(t, "/access/sign-in", shown.location.Path)
	arrived := grace.post("/access/sign-in", url.Values{"name": {"grace"}, "password": {password}, "return": {shown.field(t, "return")}})
	require.Equal(t, at, arrived.location.String())
	require.Equal(t, "grace", arrived.mirrored(t)["x-flyte-subject"])
	require.Equal(t, http.StatusOK, grace.visit(at, opened("Sec-Fetch-Site", "cross-site"), false).status, "a link from elsewhere leads there")
	require.Equal(t, http.StatusUnauthorized, grace.visit(at, map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, false).status)
}

// requireAssertion verifies a token as an app does, with nothing but the keys of the installation.
func (s *appServer) requireAssertion(t *testing.T, token, audience string) {
	t.Helper()
	var keys jose.JSONWebKeySet
	var about struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	anyone := s.browser(t)
	require.NoError(t, json.Unmarshal([]byte(anyone.open("/access/apps/.well-known/openid-configuration").body), &about))
	require.NoError(t, json.Unmarshal([]byte(anyone.open(about.Keys).body), &keys))
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.ES256})
	require.NoError(t, err, token)
	var said struct {
		jwt.Claims
		Kind  string `json:"kind"`
		Name  string `json:"name"`
		Email string `json:"email"`
	}
	require.NoError(t, parsed.Claims(keys, &said))
	require.NoError(t, said.Validate(jwt.Expected{Issuer: about.Issuer, AnyAudience: jwt.Audience{audience}, Time: time.Now()}))
	require.Equal(t, "grace", said.Subject)
	require.Equal(t, []string{"user", "Grace Hopper", "grace@example.com"}, []string{said.Kind, said.Name, said.Email})
	require.Equal(t, s.url+"/access/apps", said.Issuer)
}
