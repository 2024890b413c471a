package process_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/demo/node/process"
	"github.com/flyte-binary/flyte-binary/demo/node/shim"
)

// server is a program that listens on a port of IPv4 and IPv6, answers with its name, and asks itself by the same port when it is
// asked for that. It works in threads, as servers do.
const server = `
import http.client, http.server, socket, sys, threading
name, port = sys.argv[1], int(sys.argv[2])
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        text = name
        if self.path != "/":
            connection = http.client.HTTPConnection(self.path[1:], port)
            connection.request("GET", "/")
            text = connection.getresponse().read().decode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(text.encode())
    def log_message(self, *words): pass
class Six(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6
    def server_bind(self):
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        super().server_bind()
threads = [threading.Thread(target=made(("", port), Answer).serve_forever) for made in (http.server.ThreadingHTTPServer, Six)]
[thread.start() for thread in threads]
print("listening", flush=True)
`

// free is a port that no one has.
func free(t *testing.T) uint16 {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return uint16(listener.Addr().(*net.TCPAddr).Port)
}

// serving starts the program with a port of its own.
func (b *bundle) serving(t *testing.T, name string, port shim.Port) *process.Process {
	t.Helper()
	return b.shell(t, "exec python3 -c '"+server+"' "+name+" "+strconv.Itoa(int(port.Declared)), func(c *process.Command) {
		c.ID, c.Port = t.Name()+"/"+name, &port
	})
}

// ask returns the answer of the program on a port.
func ask(t *testing.T, host string, port uint16, path string) string {
	t.Helper()
	var text []byte
	require.Eventually(t, func() bool {
		answer, err := http.Get("http://" + net.JoinHostPort(host, strconv.Itoa(int(port))) + path)
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		text, err = io.ReadAll(answer.Body)
		return err == nil && answer.StatusCode == http.StatusOK
	}, time.Minute, 10*time.Millisecond)
	return string(text)
}

// TestProcessesHaveTheirPortToThemselves: programs with one port run side by side, and each finds itself by it.
func TestProcessesHaveTheirPortToThemselves(t *testing.T) {
	if !shim.GivesPorts() {
		t.Skip("this kernel cannot give a process another port")
	}
	declared := free(t)
	for _, name := range []string{"one", "two"} {
		b, given := setup(t), free(t)
		p := b.serving(t, name, shim.Port{Declared: declared, Given: given})
		require.Equal(t, name, ask(t, "127.0.0.1", given, "/"))
		require.Equal(t, name, ask(t, "::1", given, "/"))
		require.Equal(t, name, ask(t, "127.0.0.1", given, "/127.0.0.1"))
		require.Equal(t, name, ask(t, "127.0.0.1", given, "/localhost"))
		require.Equal(t, name, ask(t, "127.0.0.1", given, "/::1"))
		require.True(t, p.ListensOn(strconv.Itoa(int(given))))
		require.False(t, p.ListensOn(strconv.Itoa(int(declared))))
	}
	_, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(int(declared)))
	require.ErrorIs(t, err, syscall.ECONNREFUSED, "nobody has taken the port itself")
}

// TestOtherCallsGoOnAsTheyAre: those that name another port, another machine, another protocol, or nothing that there is.
func TestOtherCallsGoOnAsTheyAre(t *testing.T) {
	if !shim.GivesPorts() {
		t.Skip("this kernel cannot give a process another port")
	}
	b := setup(t)
	declared, given, other := free(t), free(t), free(t)
	script := fmt.Sprintf(`python3 -c '
import errno, os, socket, subprocess, sys
s = socket.socket(); s.bind(("127.0.0.1", %[3]d)); print(s.getsockname()[1] == %[3]d)
s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1] not in (0, %[2]d))
u = socket.socket(type=socket.SOCK_DGRAM); u.bind(("127.0.0.1", %[1]d)); print(u.getsockname()[1] == %[1]d)
s = socket.socket(socket.AF_UNIX); s.bind("\0" + str(os.getpid())); print(len(s.getsockname()) > 1)
s = socket.socket(); s.bind(("127.0.0.1", %[1]d)); print(s.getsockname()[1] == %[2]d)
t = socket.socket()
try: t.bind(("127.0.0.1", %[1]d)); print(False)
except OSError as e: print(e.errno == errno.EADDRINUSE)
c = socket.socket(); print(c.connect_ex(("127.0.0.1", %[1]d)) == errno.ECONNREFUSED)
s.listen()
print(subprocess.run([sys.executable, "-c", "import socket; socket.create_connection((\"localhost\", %[1]d))"]).returncode == 0)
print(s.accept()[0].getsockname()[1] == %[2]d)
'`, declared, given, other)
	p := b.shell(t, script, func(c *process.Command) { c.Port = &shim.Port{Declared: declared, Given: given} })
	<-p.Done()
	said := strings.Join(b.log(t), "\n")
	require.Equal(t, 9, strings.Count(said, "True"), said)
}

// TestPortsAreGivenWithoutRoot: a user's own demo gives its apps their ports, too.
func TestPortsAreGivenWithoutRoot(t *testing.T) {
	const asked = "TEST_GIVES_PORTS"
	if os.Getenv(asked) != "" {
		fmt.Fprintln(os.Stdout, "gives ports:", shim.GivesPorts())
		return
	}
	if !shim.GivesPorts() {
		t.Skip("this kernel cannot give a process another port")
	}
	if os.Getuid() != 0 {
		t.Skip("it takes root to become somebody else")
	}
	raw, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "ports") // everybody may reach it
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	own := filepath.Join(dir, "test")
	require.NoError(t, os.WriteFile(own, raw, 0o755))
	command := exec.Command(own, "-test.run=^TestPortsAreGivenWithoutRoot$")
	command.Dir, command.Env = dir, []string{asked + "=yes"}
	command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := command.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "gives ports: true")
}
