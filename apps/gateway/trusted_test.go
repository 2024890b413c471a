package gateway_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// environ answers with the request's headers as CGI, WSGI, Rack and PHP name them, and with its trailers in the same form.
func environ(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") == "" {
		_, _ = io.Copy(io.Discard, r.Body)
	}
	got := map[string][]string{}
	for _, header := range []http.Header{r.Header, r.Trailer} {
		for name, values := range header {
			variable := "HTTP_" + strings.Map(func(c rune) rune {
				if c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
					return c
				}
				return '_'
			}, strings.ToUpper(name))
			got[variable] = append(got[variable], values...)
		}
	}
	got["METHOD"] = []string{r.Method}
	_ = json.NewEncoder(w).Encode(got)
}

// claims are what a client says of itself, in spellings that are one variable for many frameworks.
func claims() []string {
	return []string{
		"X_Flyte_Subject", "x_flyte_caller", "X-Flyte_Email", "X_FLYTE-NAME", "X.Flyte.Subject", "X-Flyte~Subject", "X_Flyte_Anything",
		"X_Forwarded_For", "X-Forwarded_Proto", "X_Forwarded_Prefix", "X-Forwarded-User", "X-Forwarded-Email", "X-Forwarded-Groups", "X-Forwarded-Ssl",
		"X-Forwarded-Port", "X-Forwarded-Server", "X_Forwarded_User", "Forwarded", "X-Real-Ip", "X_Real_IP", "X-Client-Ip", "True-Client-Ip",
		"Remote-User", "Remote_User", "Remote-Groups", "X-Remote-User", "X_Remote_User", "X-Webauth-User", "X-Auth-Request-Email", "X-Authenticated-User",
		"X-Original-Url", "X_Original_URL", "X-Original-Uri", "X-Rewrite-Url", "X_Rewrite_Url", "X-Script-Name", "X-Envoy-Original-Path",
		"X-Http-Method-Override", "X_HTTP_Method_Override", "X-Http-Method", "X-Method-Override", "X-Sendfile-Type", "X-Accel-Mapping",
		"X-Ssl-Client-S-Dn", "Ssl-Client-Verify", "X-Client-Cert", "Proxy", "Transfer_Encoding", "Content_Length", "Proxy_Authorization",
	}
}

// TestClientsCannotSpeakForTheirProxy: whatever framework an app uses, headers that name a user, an address, a path or a method
// are the gateway's alone.
func TestClientsCannotSpeakForTheirProxy(t *testing.T) {
	f := start(t, newApps(route("one", replica(t, environ))), options{})
	check := func(t *testing.T, body io.Reader) {
		t.Helper()
		var got map[string][]string
		require.NoError(t, json.NewDecoder(body).Decode(&got))
		for variable, values := range got {
			require.NotContains(t, strings.Join(values, " "), "eve", variable)
		}
		require.Equal(t, []string{"anonymous"}, got["HTTP_X_FLYTE_CALLER"])
		require.Equal(t, []string{"127.0.0.1"}, got["HTTP_X_FORWARDED_FOR"])
		require.Equal(t, []string{"http"}, got["HTTP_X_FORWARDED_PROTO"])
		require.Equal(t, []string{"/apps/p/d/one"}, got["HTTP_X_FORWARDED_PREFIX"])
		require.Equal(t, []string{f.host}, got["HTTP_X_FORWARDED_HOST"])
		require.Equal(t, []string{"mine"}, got["HTTP_API_KEY"], "other headers of clients are the app's business")
	}
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("HTTP/2 %t", http2), func(t *testing.T) {
			request, err := http.NewRequest(http.MethodPost, f.url+"/apps/p/d/one/", struct{ io.Reader }{strings.NewReader("body")})
			require.NoError(t, err)
			for _, name := range claims() {
				if http2 && strings.HasPrefix(name, "Transfer") {
					continue
				}
				request.Header[name] = []string{"eve", "eve again"}
			}
			request.Header.Set("Api_key", "mine")
			request.Trailer = http.Header{}
			for _, name := range claims() {
				request.Trailer[name] = []string{"eve"}
			}
			response, err := (&http.Client{Transport: transport(t, http2)}).Do(request)
			require.NoError(t, err)
			defer response.Body.Close()
			require.Equal(t, http.StatusOK, response.StatusCode)
			check(t, response.Body)
		})
	}
	t.Run("WebSocket", func(t *testing.T) {
		lines := []string{"Connection: Upgrade, X_Flyte_Subject, X-Forwarded-For, X-Flyte-Caller", "Upgrade: websocket", "api_key: mine"}
		for _, name := range claims() {
			if !strings.HasPrefix(name, "Content") && !strings.HasPrefix(name, "Transfer") {
				lines = append(lines, name+": eve", strings.ToLower(name)+": eve")
			}
		}
		// The app answers as to an ordinary request: what it got is the same.
		check(t, sendRaw(t, f, "GET /apps/p/d/one/ HTTP/1.1", lines, "").Body)
	})
	t.Run("trailers that were not announced", func(t *testing.T) {
		body := "4\r\nbody\r\n0\r\nX-Flyte-Subject: eve\r\nX_Flyte_Email: eve\r\nAsked: eve\r\nQuestion: yes\r\n\r\n"
		response := sendRaw(t, f, "POST /apps/p/d/one/ HTTP/1.1", []string{"Transfer-Encoding: chunked", "Trailer: Question, X-Flyte-Subject", "api_key: mine"}, body)
		check(t, response.Body)
	})
}

// TestOnlyWebSocketsAreTunnels: behind an upgrade to HTTP/2, further requests would reach the app past the gateway, with any header.
func TestOnlyWebSocketsAreTunnels(t *testing.T) {
	f := start(t, newApps(route("one", replica(t, func(w http.ResponseWriter, r *http.Request) {
		if to := r.Header.Get("Upgrade"); to != "" { // an app that does whatever it is asked for
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", to)
			w.WriteHeader(http.StatusSwitchingProtocols)
			return
		}
		if r.Header.Get("Http2-Settings") != "" {
			w.WriteHeader(http.StatusTeapot)
		}
	}))), options{})
	for upgrade, want := range map[string]int{
		"websocket": http.StatusSwitchingProtocols, "WebSocket": http.StatusSwitchingProtocols, "h2c": http.StatusOK, "websocket, h2c": http.StatusOK,
		"HTTP/2.0": http.StatusOK, "TLS/1.0": http.StatusOK,
	} {
		response := sendRaw(t, f, "GET /apps/p/d/one/ HTTP/1.1", []string{
			"Connection: Upgrade, HTTP2-Settings", "Upgrade: " + upgrade, "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA",
		}, "")
		require.Equal(t, want, response.StatusCode, upgrade)
	}
}

// TestAnnouncedTrailersPass: an app gets the trailers that its client has announced, and no others.
func TestAnnouncedTrailersPass(t *testing.T) {
	f := start(t, newApps(route("one", replica(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = json.NewEncoder(w).Encode(slices.Sorted(maps.Keys(r.Trailer)))
	}))), options{})
	body := "4\r\nbody\r\n0\r\nAnswer: 1\r\nQuestion: 2\r\nX-Flyte-Subject: eve\r\n\r\n"
	response := sendRaw(t, f, "POST /apps/p/d/one/ HTTP/1.1", []string{"Transfer-Encoding: chunked", "Trailer: Question, X-Flyte-Subject"}, body)
	var names []string
	require.NoError(t, json.NewDecoder(response.Body).Decode(&names))
	require.Equal(t, []string{"Question"}, names)
}

// sendRaw sends exactly these bytes, to the host of the server or another one.
func sendRaw(t *testing.T, f *fixture, first string, lines []string, body string, host ...string) *http.Response {
	t.Helper()
	conn, err := net.Dial("tcp", f.host)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	head := strings.Join(append([]string{first, "Host: " + append(host, f.host)[0]}, lines...), "\r\n")
	_, err = io.WriteString(conn, head+"\r\n\r\n"+body)
	require.NoError(t, err)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	t.Cleanup(func() { response.Body.Close() })
	return response
}
