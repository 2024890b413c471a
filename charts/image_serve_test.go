package charts_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/manager"
)

// serves starts the image with the arguments and the configuration of the chart, as replica of a cluster, and waits until it
// is ready.
func serves(t *testing.T, u *unpacked) {
	cluster := kubetest.New(t)
	all := objects(t, render(t, append(installable, "--namespace", cluster.Namespace)...))
	u.put(t, "etc/flyte/flyte.yaml", serverFile(t, all))
	text, err := os.ReadFile(writeKubeconfig(t, cluster))
	require.NoError(t, err)
	u.put(t, "etc/flyte/kubeconfig", string(text))
	container := containers(t, one(t, all, "Deployment", release))[0]
	pool := pgtest.Schemas(t, manager.Schemas()...)
	config := pool.Config().ConnConfig
	command := u.command(t, container.Args,
		"TMPDIR=/tmp", "FLYTE_SERVER_LISTEN=127.0.0.1:0", "FLYTE_KUBERNETES_KUBECONFIG=/etc/flyte/kubeconfig",
		"FLYTE_STORAGE_URL=/tmp/store", "FLYTE_STORAGE_SIGNINGKEY="+strings.Repeat("k", 32),
		"FLYTE_DATABASE_URL=postgres://"+config.User+":"+config.Password+"@"+relay(t, pool)+"/"+config.Database,
	)
	stderr, err := command.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	address := make(chan string, 1)
	ended := make(chan string, 1)
	go func() {
		var log strings.Builder
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			if _, rest, found := strings.Cut(lines.Text(), `"address":"`); found {
				at, _, _ := strings.Cut(rest, `"`)
				select {
				case address <- at:
				default:
				}
				continue // the line has the whole configuration
			}
			log.WriteString(lines.Text() + "\n")
		}
		ended <- log.String()
	}()
	var at string
	select {
	case at = <-address:
	case log := <-ended:
		require.FailNow(t, "the server ended", log)
	case <-time.After(time.Minute):
		require.FailNow(t, "the server does not start")
	}
	for path, holds := range map[string]string{
		container.LivenessProbe.HTTPGet.Path: "", container.ReadinessProbe.HTTPGet.Path: "", "/v2/": "<html", "/metrics": "flyte_",
	} {
		var code int
		var body []byte
		require.Eventually(t, func() bool {
			answer, err := http.Get("http://" + at + path)
			if err != nil {
				return false
			}
			body, err = io.ReadAll(answer.Body)
			code = answer.StatusCode
			return answer.Body.Close() == nil && err == nil && code == http.StatusOK
		}, time.Minute, 20*time.Millisecond, path)
		require.Contains(t, string(body), holds, path)
	}
	http.DefaultClient.CloseIdleConnections()
	require.NoError(t, command.Process.Signal(syscall.SIGTERM))
	log := <-ended
	require.NoError(t, command.Wait(), log)
}

// relay is an address of Postgres on loopback: from its own file system, the image cannot reach the socket of the test's.
func relay(t *testing.T, pool *pgxpool.Pool) string {
	t.Helper()
	config := pool.Config().ConnConfig
	network, target := "tcp", net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port)))
	if strings.HasPrefix(config.Host, "/") {
		network, target = "unix", filepath.Join(config.Host, ".s.PGSQL."+strconv.Itoa(int(config.Port)))
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			to, err := new(net.Dialer).DialContext(context.Background(), network, target)
			if err != nil {
				_ = from.Close()
				continue
			}
			for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
				go func() {
					_, _ = io.Copy(pair[0], pair[1])
					_, _ = pair[0].Close(), pair[1].Close()
				}()
			}
		}
	}()
	return listener.Addr().String()
}

// movesData runs the init container of a raw container.
func movesData(t *testing.T, u *unpacked) {
	inputs, err := proto.Marshal(&task.Inputs{Literals: []*task.NamedLiteral{{Name: "x", Value: &core.Literal{
		Value: &core.Literal_Scalar{Scalar: &core.Scalar{Value: &core.Scalar_Primitive{Primitive: &core.Primitive{Value: &core.Primitive_Integer{Integer: 41}}}}},
	}}}})
	require.NoError(t, err)
	u.put(t, "data/store/run/inputs/inputs.pb", string(inputs))
	for _, volume := range []string{"data/store", "data/store/run", "data/inputs"} {
		require.NoError(t, os.MkdirAll(filepath.Join(u.root, volume), 0o755))
		require.NoError(t, os.Chown(filepath.Join(u.root, volume), int(u.user), int(u.user)))
	}
	out, err := u.command(t, []string{
		"copilot", "download", `--storage={"url":"/data/store"}`, "--attempt=/data/store/run/a0/1", "--dir=/data/inputs", "--inputs=/data/store/run/inputs",
	}).CombinedOutput()
	require.NoError(t, err, string(out))
	text, err := os.ReadFile(filepath.Join(u.root, "data/inputs/inputs.json"))
	require.NoError(t, err)
	require.JSONEq(t, `{"x": 41}`, string(text))
}
