package manager_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/auth"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/auth/authconnect"
	"github.com/flyte-binary/flyte-binary/internal/test/certtest"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// saying is a client that sends headers.
type saying struct {
	*http.Client
	header http.Header
}

// Do implements connect.HTTPClient.
func (s saying) Do(request *http.Request) (*http.Response, error) {
	for name, values := range s.header {
		request.Header[name] = values
	}
	return s.Client.Do(request)
}

func (s *closedServer) whoIs(t *testing.T, client *http.Client, header http.Header) (*auth.UserInfoResponse, error) {
	t.Helper()
	return authconnect.NewIdentityServiceClient(saying{client, header}, s.url).UserInfo(t.Context(), &auth.UserInfoRequest{})
}

// presenting makes a browser present a certificate.
func (b *browser) presenting(t *testing.T, certFile, keyFile string) *browser {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	require.NoError(t, err)
	b.http.Transport.(*http.Transport).TLSClientConfig.Certificates = []tls.Certificate{pair}
	return b
}

// TestAProxyProvesWhoItIsByACertificate: its headers count, and those of everybody else are ignored.
func TestAProxyProvesWhoItIsByACertificate(t *testing.T) {
	ours, dir := certtest.New(t), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	server := startSignIn(t, func(c *configuration.Config) {
		c.Access.Proxy.ClientCAFile, c.Access.Proxy.ClientNames = ours.File, []string{"proxy.example.com"}
		c.Access.Bindings = []access.BindingConfig{{Group: "research", Role: "viewer"}}
	})
	ours.IssueClient(t, "proxy.example.com", at("proxy.crt"), at("proxy.key"))
	ours.IssueClient(t, "pod.example.com", at("pod.crt"), at("pod.key"))
	says := http.Header{
		"X-Auth-Request-User": {"ada"}, "X-Auth-Request-Email": {"ada@example.com"}, "X-Auth-Request-Groups": {"navy, research"},
	}
	proxy := server.browser(t).presenting(t, at("proxy.crt"), at("proxy.key"))
	who, err := server.whoIs(t, proxy.http, says)
	require.NoError(t, err)
	require.Equal(t, "proxy|ada", who.GetSubject(), "not the local account of that name")
	require.Equal(t, "ada@example.com", who.GetEmail())

	for name, client := range map[string]*browser{
		"no certificate": server.browser(t), "a certificate with another name": server.browser(t).presenting(t, at("pod.crt"), at("pod.key")),
	} {
		_, err := server.whoIs(t, client.http, says)
		require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err), "%s: %v", name, err)
		signedIn := client
		signedIn.signIn("grace")
		who, err := server.whoIs(t, signedIn.http, says)
		require.NoError(t, err, name)
		require.Equal(t, "grace", who.GetSubject(), "%s: the headers change nothing", name)
	}
	plain := strings.Replace(strings.Replace(server.url, "https://localhost", "http://127.0.0.1", 1), "https://", "http://", 1)
	_, err = authconnect.NewIdentityServiceClient(saying{http.DefaultClient, says}, plain).UserInfo(t.Context(), &auth.UserInfoRequest{})
	require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err), "without TLS: %v", err)

	_, err = server.whoIs(t, proxy.http, nil)
	require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err), "the proxy itself is no one: %v", err)
	for name, header := range map[string]http.Header{"two names": {"X-Auth-Request-User": {"ada", "eve"}}, "no name": {"X-Auth-Request-User": {""}}} {
		_, err = server.whoIs(t, proxy.http, header)
		require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err), "%s: %v", name, err)
	}
	foreign := says.Clone()
	foreign.Set("Sec-Fetch-Site", "cross-site")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.url+"/metrics", nil)
	require.NoError(t, err)
	request.Header = foreign
	require.Equal(t, http.StatusUnauthorized, proxy.send(request).status, "a page of another site makes the browser send what the proxy knows it by")

	// A person whom the proxy authenticates gets a session where one is required, and confirms a client that waits for a sign-in.
	waiting := proxy.commandLine()
	request, err = http.NewRequestWithContext(t.Context(), http.MethodGet, waiting.meta.GetAuthorizationEndpoint()+"?"+waiting.parameters().Encode(), nil)
	require.NoError(t, err)
	request.Header = says
	shown := proxy.send(request)
	require.Contains(t, shown.body, "asks to act as <b>proxy|ada</b>")
	answered := proxy.post("/access/approve", url.Values{"request": {shown.field(t, "request")}, "answer": {"allow"}})
	require.NotEmpty(t, answered.location.Query().Get("code"))
}

// TestAProxyProvesWhoCallsByASignature: a token that the proxy has signed counts, from any client, and nothing else does.
func TestAProxyProvesWhoCallsByASignature(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	keys := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "1", Algorithm: "ES256", Use: "sig"}}})
	}))
	defer keys.Close()
	const header = "X-Example-Jwt-Assertion"
	server := startSignIn(t, func(c *configuration.Config) {
		c.Access.Local, c.Access.Proxy.Token = access.LocalConfig{}, access.ProxyTokenConfig{
			Header: header, Issuer: "https://proxy.example.com", Audience: "/projects/1/flyte", KeysURL: keys.URL, SubjectClaim: "email",
		}
	})
	type said struct {
		jwt.Claims
		Email  string   `json:"email"`
		Groups []string `json:"groups"`
	}
	good := said{jwt.Claims{
		Issuer: "https://proxy.example.com", Audience: jwt.Audience{"/projects/1/flyte"}, Subject: "1", Expiry: jwt.NewNumericDate(time.Now().Add(time.Hour)),
	}, "ada@example.com", []string{"research"}}
	signed := func(key any, change func(*said)) http.Header {
		claims := good
		change(&claims)
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, (&jose.SignerOptions{}).WithHeader("kid", "1"))
		require.NoError(t, err)
		token, err := jwt.Signed(signer).Claims(claims).Serialize()
		require.NoError(t, err)
		return http.Header{header: {token}}
	}
	client := server.browser(t).http
	for range 2 { // the second time from memory
		who, err := server.whoIs(t, client, signed(key, func(*said) {}))
		require.NoError(t, err)
		require.Equal(t, "ada@example.com", who.GetSubject())
	}
	for name, bad := range map[string]http.Header{
		"another key":      signed(other, func(*said) {}),
		"another audience": signed(key, func(s *said) { s.Audience = jwt.Audience{"/projects/1/other"} }),
		"another issuer":   signed(key, func(s *said) { s.Issuer = "https://evil.example" }),
		"expired":          signed(key, func(s *said) { s.Expiry = jwt.NewNumericDate(time.Now().Add(-time.Hour)) }),
		"no subject":       signed(key, func(s *said) { s.Email = "" }),
		"no token":         {header: {"ada@example.com"}},
		"another header":   {"X-Auth-Request-User": {"ada@example.com"}, "X-Forwarded-User": {"ada@example.com"}},
		"as a bearer":      {"Authorization": {"Bearer " + signed(key, func(*said) {}).Get(header)}},
		"two tokens":       {header: {signed(key, func(*said) {}).Get(header), signed(key, func(*said) {}).Get(header)}},
		"not signed":       {header: {"eyJhbGciOiJub25lIn0.eyJpc3MiOiJodHRwczovL3Byb3h5LmV4YW1wbGUuY29tIiwiZW1haWwiOiJhZGFAZXhhbXBsZS5jb20ifQ."}},
	} {
		_, err := server.whoIs(t, client, bad)
		require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err), "%s: %v", name, err)
	}
}
