package demo_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/demo/demotest"
)

// hostile are variables that a shell may have for other programs, each of which would break a database, an API server or a Python
// that reads it.
func hostile(t *testing.T) []string {
	t.Helper()
	return []string{
		"PGOPTIONS=-csearch_path=x", "PGHOST=/nowhere", "PGPORT=1", "PGUSER=nobody", "PGDATABASE=none", "PGDATA=/nowhere", "PGSSLMODE=require",
		"PGSERVICE=none", "PGPASSFILE=/nowhere", "PGTARGETSESSIONATTRS=standby", "PGTZ=Asia/Kolkata", "PGCLIENTENCODING=LATIN1",
		"LANG=xx_XX.broken", "LC_ALL=tr_TR.ISO-8859-9", "TZ=Asia/Kathmandu", "TMPDIR=/nowhere",
		"PYTHONHOME=/nowhere", "PYTHONPATH=/nowhere", "PYTHONSTARTUP=/nowhere", "PYTHONWARNINGS=error", "PIP_TARGET=/nowhere", "UV_SYSTEM_PYTHON=1",
		"SSL_CERT_FILE=/nowhere", "SSL_CERT_DIR=/nowhere", "REQUESTS_CA_BUNDLE=/nowhere",
		"HTTP_PROXY=http://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:1", "ALL_PROXY=http://127.0.0.1:1", "GRPC_PROXY_EXP=http://127.0.0.1:1",
		"KUBECONFIG=/nowhere", "KUBE_FEATURE_WatchListClient=nonsense", "KUBERNETES_SERVICE_HOST=192.0.2.1", "KUBERNETES_SERVICE_PORT=1",
		"ETCD_NAME=other", "GOMEMLIMIT=1GiB", "GOGC=50", "BASH_ENV=/nowhere", "ENV=/nowhere", "CDPATH=/", "LD_LIBRARY_PATH=/nowhere",
	}
}

func TestADemoStartsWhateverTheShellHolds(t *testing.T) {
	for _, umask := range []string{"077", "000"} {
		t.Run("umask "+umask, func(t *testing.T) {
			dir := demotest.DataDir(t)
			demo := demotest.StartIn(t, demotest.Shell{Umask: umask, Env: hostile(t)}, "--data-dir", dir)
			require.Eventually(t, func() bool { return ready(demo.URL) }, demotest.Patience, 50*time.Millisecond)
			call(t, demo.URL, "flyteidl2.project.ProjectService/CreateProject", `{"project": {"id": "made", "name": "made"}}`)

			kube, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", demo.Child("internal-kube")))
			require.NoError(t, err)
			for _, foreign := range []string{"PGOPTIONS", "KUBE_FEATURE", "HTTPS_PROXY", "ETCD_NAME", "GOMEMLIMIT=1GiB", "GOGC=50", "LC_ALL", "/nowhere"} {
				require.False(t, bytes.Contains(kube, []byte(foreign)), "the API server does not get %s", foreign)
			}
			require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
				info, failure := entry.Info()
				if err != nil || failure != nil || entry.Type()&fs.ModeSymlink != 0 || entry.Type()&fs.ModeSocket != 0 {
					return nil //nolint:nilerr // files of a running demo come and go
				}
				require.Zero(t, info.Mode().Perm()&0o022, "%s is %s: others may write it", path, info.Mode())
				return nil
			}))
			info, err := os.Stat(dir)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o711), info.Mode().Perm(), "Postgres passes through as another user")
		})
	}
}

func TestADemoOnTheOtherLoopbackAddressNamesIt(t *testing.T) {
	probe, err := net.Listen("tcp", "[::1]:0")
	if errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT) {
		t.Skip("this machine has no IPv6")
	}
	require.NoError(t, err)
	require.NoError(t, probe.Close())
	demo := demotest.Start(t, "--ephemeral", "--listen", "[::1]:0")
	require.True(t, ready(demo.URL), "the address that is printed leads to it: %s", demo.URL)
	answer := call(t, demo.URL, "flyteidl2.dataproxy.DataProxyService/CreateUploadLocation",
		`{"project": "flytesnacks", "domain": "development", "filename": "x", "contentMd5": "1B2M2Y8AsgTpgAmY7PhCfg=="}`)
	link, _ := answer["signedUrl"].(string)
	require.True(t, strings.HasPrefix(link, demo.URL+"/"), link)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, link, http.NoBody)
	require.NoError(t, err)
	request.Header.Set("Content-Md5", "1B2M2Y8AsgTpgAmY7PhCfg==")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
}

func TestADemoRefusesTheNamesOfNeighbours(t *testing.T) {
	demo := demotest.Start(t, "--ephemeral")
	own, err := os.Hostname()
	require.NoError(t, err)
	for host, want := range map[string]int{own: http.StatusOK, "printer": http.StatusMisdirectedRequest, "flyte.flyte.svc": http.StatusMisdirectedRequest} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, demo.URL+"/healthz", nil)
		require.NoError(t, err)
		request.Host = host
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, want, response.StatusCode, host)
	}
}

// A demo that cannot start for lack of space says so, and nothing else.
func TestAFullDiskIsExplainedAtTheFirstStart(t *testing.T) {
	disk := filepath.Dir(demotest.DataDir(t))
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=40m,mode=711"); err != nil {
		t.Skipf("no small disk can be made here: %s", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(disk, syscall.MNT_DETACH)) })
	output, err := demotest.Run(t, "demo", "--listen", "127.0.0.1:0", "--python", demotest.Python(t), "--data-dir", filepath.Join(disk, "data"))
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 3, exit.ExitCode(), output)
	require.Contains(t, output, "MiB are free on its disk, and the first start needs 256 MiB")
	require.Contains(t, output, "--data-dir")
	require.NotContains(t, output, "goroutine")
}

// A directory of someone else that is closed to Postgres is the demo's problem to explain, with the code for it.
func TestAClosedDataDirectoryIsExplained(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root runs Postgres as another user")
	}
	dir := demotest.DataDir(t)
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o700))
	output, err := demotest.Run(t, "demo", "--listen", "127.0.0.1:0", "--python", demotest.Python(t), "--data-dir", dir)
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 3, exit.ExitCode(), output)
	require.Contains(t, output, "is closed to the user")
	require.Contains(t, output, "chmod o+x "+filepath.Dir(dir))
}
