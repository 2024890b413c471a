package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAddressesOfAnAppKeepTheirBytes: an app below /apps/ redirects and links as one with a host of its own. Browsers take what
// url.Parse refuses.
func TestAddressesOfAnAppKeepTheirBytes(t *testing.T) {
	answers := make(chan [2]string, 1)
	f := start(t, newApps(route("one", replica(t, func(w http.ResponseWriter, _ *http.Request) {
		answer := <-answers
		w.Header().Set(answer[0], answer[1])
		w.WriteHeader(http.StatusFound)
	}))), options{})
	const at = "/apps/p/d/one"
	for value, want := range map[string]string{
		"/search/100%":                  at + "/search/100%",
		"/search/100%?q=50%#7%":         at + "/search/100%?q=50%#7%",
		"/a%zz/%2F":                     at + "/a%zz/%2F",
		"/a%2fb%2F..%2Fc":               at + "/a%2fb%2F..%2Fc",
		"/a;v=1;w":                      at + "/a;v=1;w",
		"/path/?":                       at + "/path/?",
		"/path/?#":                      at + "/path/?#",
		"?":                             "?",
		"/?next=//other.example/":       at + "/?next=//other.example/",
		"/a b/ü":                        at + "/a%20b/%C3%BC",
		"  /trimmed":                    at + "/trimmed",
		at + "/100%":                    at + "/100%",
		at + "?x":                       at + "?x",
		"/../../other":                  at + "/other",
		"/a/%2e%2E/../b/.":              at + "/b/",
		at + "/../other/x":              at + "/other/x",
		"../../../../secret?x=1":        at + "/secret?x=1",
		"../up":                         at + "/up",
		"next/100%":                     "next/100%",
		"http://" + f.host + "/100%":    at + "/100%",
		"HTTP://" + f.host + "?a#b":     at + "/?a#b",
		"//" + f.host + "/100%":         at + "/100%",
		"//other.example/100%":          "//other.example/100%",
		"http://u@" + f.host + "/":      "http://u@" + f.host + "/",
		"https://other.example/100%?%":  "https://other.example/100%?%",
		"myapp://" + f.host + "/opens":  "myapp://" + f.host + "/opens",
		"http:relative":                 "http:relative",
		"data:text/plain,..%2F../../..": "data:text/plain,..%2F../../..",
	} {
		answers <- [2]string{"Location", value}
		header := sendRaw(t, f, "GET "+at+"/x/y HTTP/1.1", nil, "").Header
		require.Equal(t, want, header.Get("Location"), value)
	}
	for _, c := range [][3]string{
		{"Content-Location", "/100%", at + "/100%"},
		{"Refresh", "5; url=/login", "5; url=" + at + "/login"},
		{"Refresh", `0;URL='/login?x=100%'`, "0; url=" + at + "/login?x=100%"},
		{"Refresh", "5", "5"},
		{"Refresh", "5; url=https://other.example/", "5; url=https://other.example/"},
		{"Link", `</a.css>; rel=preload; as=style, <https://other.example/>; rel="next", <b>; rel=prev`, `<` + at + `/a.css>; rel=preload; as=style, <https://other.example/>; rel="next", <b>; rel=prev`},
		{"Link", "no address", "no address"},
		{"Link", "<broken", "<broken"},
		{"Sourcemap", "/a.js.map", at + "/a.js.map"},
		{"Set-Cookie", "a=b; Path=/100%", "a=b; Path=" + at + "/100%"},
	} {
		answers <- [2]string{c[0], c[1]}
		header := sendRaw(t, f, "GET "+at+"/x/y HTTP/1.1", nil, "").Header
		require.Equal(t, c[2], header.Get(c[0]), c[1])
	}
}

// TestEarlyHintsFitTheAddress: they come before the answer, and have links too.
func TestEarlyHintsFitTheAddress(t *testing.T) {
	f := start(t, newApps(route("one", replica(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</a.css>; rel=preload")
		w.Header().Set("X-Flyte-Subject", "eve")
		w.WriteHeader(http.StatusEarlyHints)
	}))), options{})
	var hint textproto.MIMEHeader
	request, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		Got1xxResponse: func(_ int, header textproto.MIMEHeader) error { hint = header; return nil },
	}), http.MethodGet, f.url+"/apps/p/d/one/", nil)
	require.NoError(t, err)
	response, err := (&http.Client{Transport: transport(t, false)}).Do(request)
	require.NoError(t, err)
	response.Body.Close()
	require.Equal(t, "</apps/p/d/one/a.css>; rel=preload", hint.Get("Link"))
	require.Empty(t, hint.Get("X-Flyte-Subject"))
}

// TestAnAppGetsTheAddressAsItWasSent: below its path, and at its host.
func TestAnAppGetsTheAddressAsItWasSent(t *testing.T) {
	f := start(t, newApps(route("one", replica(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.RequestURI) }))), options{})
	for sent, want := range map[string]string{
		"/path/?":               "/path/?",
		"/path/":                "/path/",
		"/?":                    "/?",
		"/path??":               "/path??",
		"/path?a?b=%zz;c&d":     "/path?a?b=%zz;c&d",
		"/a%2Fb%2f..%2F":        "/a%2Fb%2f..%2F",
		"/a;v=1/../b":           "/a;v=1/../b",
		"//other.example/x":     "//other.example/x",
		"/%2Fother.example/%5c": "/%2Fother.example/%5c",
		`/a"b%2Fc`:              "/a%22b%2Fc",
		"/ü%2Fx?ü":              "/%C3%BC%2Fx?ü",
		`/a\b%2F`:               "/a%5Cb%2F",
		"/a|b^c`{}%7C%2F":       "/a%7Cb%5Ec%60%7B%7D%7C%2F",
	} {
		for prefix, host := range map[string]string{"/apps/p/d/one": f.host, "": "one-0a1b2c3d.localhost"} {
			response := sendRaw(t, f, "GET "+prefix+sent+" HTTP/1.1", []string{"X-Ignored: 1"}, "", host)
			body, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			require.Equal(t, want, string(body), "%s at %s", sent, host)
		}
	}
	// A browser that is sent elsewhere keeps the empty query.
	_, header, _ := f.get(t, "/apps/p/d/one/x?", map[string]string{"Sec-Fetch-Mode": "navigate", "Host": "localhost"})
	require.True(t, strings.HasSuffix(header.Get("Location"), ".localhost/x?"), header.Get("Location"))
}
