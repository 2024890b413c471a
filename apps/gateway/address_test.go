package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
)

// raw sends a request line and headers as they are, and returns the status and the body of the answer; 0 if there is none.
func raw(t testing.TB, address, request string) (int, string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	_, err = io.WriteString(conn, request)
	require.NoError(t, err)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, ""
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

func TestAddresses(t *testing.T) {
	echo := func(name string) string {
		return replica(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "%s %s", name, r.RequestURI) })
	}
	one, two := route("one", echo("one")), route("two", echo("two"))
	two.Host = "two.example.org"
	greedy := route("greedy", echo("greedy")) // it declares names of the server
	greedy.Host = "flyte.example.com"
	bare := route("bare", echo("bare"))
	bare.Host, bare.Subdomain = "127.0.0.1", "two-0a1b2c3d.one-0a1b2c3d"
	f := start(t, newApps(one, two, greedy, bare), options{})
	for _, c := range []struct {
		path, host, want string
		status           int
	}{
		{"/apps/p/d/one/", "", "one /", 200},
		{"/apps/p/d/one", "", "one /", 200},
		{"/apps/p/d/one?a=1;b=%zz", "", "one /?a=1;b=%zz", 200},
		{"/apps/p/d/one/x/y?z=1", "", "one /x/y?z=1", 200},
		{"/apps/p/d/one/a%2Fb%20c", "", "one /a%2Fb%20c", 200},
		{"/apps/p/d/one//x", "", "one //x", 200},
		{"/apps/p/d/one//evil.example/x", "", "one //evil.example/x", 200},
		{"/apps/p/d/one/../two/", "", "one /../two/", 200},
		{"/apps/p/d/one/%2e%2e/two/", "", "one /%2e%2e/two/", 200},
		{"/apps/p/d/one/..%2ftwo/", "", "one /..%2ftwo/", 200},
		{"/apps/p/d/one/apps/p/d/two/", "", "one /apps/p/d/two/", 200},
		{"http://elsewhere.example/apps/p/d/one/", "", "not known as", 421},
		{"http://localhost/apps/p/d/one/x", "two-0a1b2c3d.localhost", "one /x", 200}, // the address wins over the header

		{"/apps/p/d/../d/one/", "", "no app", 404},
		{"/apps/p/d/%6fne/", "", "no app", 404},
		{"/apps/p/d/one%2Fx", "", "no app", 404},
		{"/apps/p%2Fd/one/x", "", "no app", 404},
		{"/apps/p/d/one;x/", "", "no app", 404},
		{"/apps//p/d/one/", "", "no app", 404},
		{"/apps/p/d/ONE/", "", "no app", 404},
		{"/apps/p/d/three/", "", "no app", 404},
		{"/apps/p/d", "", "no app", 404},
		{"/apps/", "", "no app", 404},
		{"/apps/../v2/", "", "no app", 404},
		{"/%61pps/p/d/one/", "", "the API", 200},
		{"/x/../apps/p/d/one/", "", "the API", 200},
		{"//apps/p/d/one/", "", "the API", 200},
		{"/apps", "", "the API", 200},

		{"/x", "one-0a1b2c3d.localhost", "one /x", 200},
		{"/apps/p/d/two/", "one-0a1b2c3d.localhost:8090", "one /apps/p/d/two/", 200},
		{"/flyteidl2.task.TaskService/Get", "ONE-0a1b2c3d.localhost.", "one /flyteidl2.task.TaskService/Get", 200},
		{"/", "two.example.org:80", "two /", 200},
		{"/../x", "two.example.org", "two /../x", 200},
		{"/", "three-0a1b2c3d.localhost", "no app", 404}, // never the console
		{"/", "x.one-0a1b2c3d.localhost", "no app", 404},
		{"/", "two-0a1b2c3d.one-0a1b2c3d.localhost", "bare /", 200}, // as declared, whatever it looks like
		{"/", "one-0a1b2c3d.localhost.evil.example", "not known as", 421},
		{"/apps/p/d/one/", "evil.example", "not known as", 421},
		{"/apps/p/d/one/", "flyte.example.com", "one /", 200},
		{"/", "flyte.example.com", "the API", 200}, // no app takes it
		{"/", "127.0.0.1", "the API", 200},
		{"/", "localhost", "the API", 200},
		{"/", "one-0a1b2c3d", "the API", 200},
	} {
		t.Run(c.host+c.path, func(t *testing.T) {
			host := c.host
			if host == "" {
				host = f.host
			}
			status, body := raw(t, f.host, "GET "+c.path+" HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n")
			require.Equal(t, c.status, status, body)
			require.Contains(t, body, c.want)
			if c.status == 200 {
				require.Equal(t, c.want, body)
			}
		})
	}
	for _, odd := range []string{
		"CONNECT one-0a1b2c3d.localhost:80 HTTP/1.1\r\nHost: one-0a1b2c3d.localhost\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: one-0a1b2c3d.localhost\r\n\r\n",
		"GET /x HTTP/1.1\r\nHost: one-0a1b2c3d.localhost\r\nHost: two-0a1b2c3d.localhost\r\n\r\n",
		"GET /%zz HTTP/1.1\r\nHost: one-0a1b2c3d.localhost\r\n\r\n",
		"GET x HTTP/1.1\r\nHost: one-0a1b2c3d.localhost\r\n\r\n",
	} {
		status, body := raw(t, f.host, odd)
		require.NotContains(t, body, "one ", odd)
		require.True(t, status == 0 || status == 200 && body == "" || status >= 400, "%s: %d %s", odd, status, body)
	}
}

// TestAnAppThatIsCreatedAgain: a name that is used again leads to the new app, in whichever order the changes come.
func TestAnAppThatIsCreatedAgain(t *testing.T) {
	before, after := route("one", replica(t, says("before"))), route("one", replica(t, says("after")))
	after.Uid = "uid-again"
	f := start(t, newApps(before), options{})
	f.apps.set(after)
	f.apps.remove(before.GetUid())
	f.settle(t)
	_, _, body := f.get(t, "/apps/p/d/one/", nil)
	require.Equal(t, "after", body)
	_, _, body = f.get(t, "/", map[string]string{"Host": "one-0a1b2c3d.localhost"})
	require.Equal(t, "after", body)

	f.apps.set(changed(after, func(r *enginev1.AppRoute) { r.Subdomain, r.Host = "other", "own.example" }))
	f.settle(t)
	status, _, _ := f.get(t, "/", map[string]string{"Host": "one-0a1b2c3d.localhost"})
	require.Equal(t, http.StatusNotFound, status)
	for _, host := range []string{"other.localhost", "own.example"} {
		_, _, body = f.get(t, "/", map[string]string{"Host": host})
		require.Equal(t, "after", body)
	}
	f.apps.remove(after.GetUid())
	f.settle(t)
	status, _, _ = f.get(t, "/apps/p/d/one/", nil)
	require.Equal(t, http.StatusNotFound, status)
}

// FuzzAddresses sends any path and host. Only the app that the path begins with, or that has the host, may see it.
func FuzzAddresses(f *testing.F) {
	seen := make(chan string, 10)
	note := func(name string) string {
		return replica(f, func(_ http.ResponseWriter, r *http.Request) { seen <- name + " " + r.RequestURI })
	}
	one, two := route("one", note("one")), route("two", note("two"))
	gate := start(f, newApps(one, two), options{})
	for _, path := range []string{
		"/apps/p/d/one/", "/apps/p/d/one/../two/", "/apps/p/d/one/%2e%2e/two", "/apps/p/d/two//x", "/", "/apps/p/d%2fone", "//apps/p/d/two/",
	} {
		for _, host := range []string{"localhost", "one-0a1b2c3d.localhost", "two-0a1b2c3d.localhost:1", "x.y", "[::1]:80"} {
			f.Add(path, host)
		}
	}
	f.Fuzz(func(t *testing.T, path, host string) {
		if strings.ContainsAny(path, " \r\n\x00") || strings.ContainsAny(host, "\r\n\x00") {
			return
		}
		raw(t, gate.host, "GET "+path+" HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n")
		for {
			select {
			case got := <-seen:
				name, _, _ := strings.Cut(got, " ")
				byHost := strings.HasPrefix(strings.ToLower(host), name+"-0a1b2c3d.localhost")
				byPath := strings.HasPrefix(path, "/apps/p/d/"+name) || strings.Contains(path, "://")
				require.True(t, byHost || byPath, "%q %q reached %s", path, host, got)
				continue
			default:
			}
			break
		}
	})
}
