package node

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/flyte-binary/flyte-binary/demo/node/capacity"
	"github.com/flyte-binary/flyte-binary/demo/node/pki"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

func TestPatternsOfImages(t *testing.T) {
	for _, tc := range []struct {
		pattern, image string
		want           bool
	}{
		{"a", "a", true},
		{"a", "ab", false},
		{"*", "", true},
		{"ghcr.io/*", "ghcr.io/x/y:1", true},
		{"ghcr.io/*", "docker.io/ghcr.io/x", false},
		{"*:gpu", "x/y:gpu", true},
		{"*:gpu", "x/y:gpu2", false},
		{"a*b*c", "a-b-b-c", true},
		{"a*b*c", "a-c-b", false},
		{"aa*aa", "aaa", false},
	} {
		require.Equal(t, tc.want, matches(tc.pattern, tc.image), "%s %s", tc.pattern, tc.image)
	}
}

func TestTheLongestPatternWins(t *testing.T) {
	cfg := Config{Environment: "/default", Images: []Image{{"ghcr.io/*", "/short"}, {"ghcr.io/team/*", "/long"}, {"*", "/any"}}}
	for image, want := range map[string]string{"ghcr.io/x": "/short", "ghcr.io/team/x": "/long", "x": "/any"} {
		dir, mapped := cfg.environmentFor(image)
		require.Equal(t, want, dir)
		require.True(t, mapped)
	}
}

func TestTheDefaultEnvironmentStandsInForImages(t *testing.T) {
	dir, mapped := Config{Environment: "/default"}.environmentFor("x")
	require.Equal(t, "/default", dir)
	require.False(t, mapped)
	_, mapped = Config{Environment: "/default", OwnImage: "own"}.environmentFor("own")
	require.True(t, mapped, "this program's own image is known")
	_, mapped = Config{}.environmentFor("x")
	require.True(t, mapped, "there is no default that could stand in")
}

func TestConfigNamesTheField(t *testing.T) {
	good := DefaultConfig()
	good.DataDir = "/data"
	require.NoError(t, good.Validate())
	for field, change := range map[string]func(*Config){
		"name":                  func(c *Config) { c.Name = "" },
		"dataDir":               func(c *Config) { c.DataDir = "relative" },
		"address":               func(c *Config) { c.Address = "" },
		"cpus":                  func(c *Config) { c.CPUs = 0 },
		"cpuOvercommit":         func(c *Config) { c.CPUOvercommit = -1 },
		"memoryBytes":           func(c *Config) { c.MemoryBytes = 0 },
		"pods":                  func(c *Config) { c.Pods = 0 },
		"relief":                func(c *Config) { c.Relief = -1 },
		"heartbeat":             func(c *Config) { c.Heartbeat = 0 },
		"runningDelay":          func(c *Config) { c.RunningDelay = -1 },
		"unschedulableAfter":    func(c *Config) { c.UnschedulableAfter = -1 },
		"restartBackoff":        func(c *Config) { c.RestartBackoff = 0 },
		"logBytes":              func(c *Config) { c.LogBytes = -1 },
		"memoryInterval":        func(c *Config) { c.MemoryInterval = 0 },
		"stopGrace":             func(c *Config) { c.StopGrace = -1 },
		"environment":           func(c *Config) { c.Environment = "venv" },
		"store":                 func(c *Config) { c.Store = "blobs" },
		"images[0].pattern":     func(c *Config) { c.Images = []Image{{Environment: "/x"}} },
		"images[0].environment": func(c *Config) { c.Images = []Image{{Pattern: "x", Environment: "venv"}} },
	} {
		bad := good
		change(&bad)
		require.ErrorContains(t, bad.Validate(), field+":")
	}
	require.Len(t, strings.Split((Config{}).Validate().Error(), "\n"), 10, "all of them at once")
}

func TestRequestOfAPod(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	container := func(cpu string, sidecar bool) corev1.Container {
		c := corev1.Container{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}}
		if sidecar {
			c.RestartPolicy = &always
		}
		return c
	}
	for name, tc := range map[string]struct {
		spec corev1.PodSpec
		want string
	}{
		"sum":     {corev1.PodSpec{Containers: []corev1.Container{container("1", false), container("500m", false)}}, "1500m"},
		"init":    {corev1.PodSpec{InitContainers: []corev1.Container{container("3", false)}, Containers: []corev1.Container{container("1", false)}}, "3"},
		"sidecar": {corev1.PodSpec{InitContainers: []corev1.Container{container("1", true), container("3", false)}, Containers: []corev1.Container{container("1", false)}}, "4"},
		"beside":  {corev1.PodSpec{InitContainers: []corev1.Container{container("1", true)}, Containers: []corev1.Container{container("1", false)}}, "2"},
		"pod": {corev1.PodSpec{
			Containers: []corev1.Container{container("1", false)},
			Resources:  &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("5")}},
			Overhead:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
		}, "6"},
	} {
		t.Run(name, func(t *testing.T) {
			got := capacity.Request(&corev1.Pod{Spec: tc.spec})
			want := resource.MustParse(tc.want)
			require.Zero(t, got.Cpu().Cmp(want), got.Cpu().String())
			require.Equal(t, int64(1), got.Pods().Value())
		})
	}
}

func TestCertificates(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	clk := clock.NewFake(time.Now())
	read := func() string {
		c, err := pki.EnsureCertificates(dir, "127.0.0.1", clk)
		require.NoError(t, err)
		for _, path := range []string{c.AuthorityKey, c.ClientKey, c.ServingKey} {
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		}
		raw, err := os.ReadFile(c.ClientCertificate)
		require.NoError(t, err)
		return string(raw)
	}
	first := read()
	require.Equal(t, first, read(), "valid ones are kept")
	clk.Step(pki.CertificateLife - pki.CertificateRenewal + time.Hour)
	second := read()
	require.NotEqual(t, first, second, "old ones are renewed")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "serving.key"), []byte("broken"), 0o600))
	require.NotEqual(t, second, read())
	_, err := pki.EnsureCertificates(dir, "127.0.0.2", clk)
	require.NoError(t, err)
	require.NotEqual(t, second, read(), "they name the address")
}

// A demo that runs for longer than its certificates live keeps serving logs to an API server that knows its authority
// from the start.
func TestCertificatesAreRenewedWhileTheNodeRuns(t *testing.T) {
	clk := clock.NewFake(time.Now())
	dir := filepath.Join(t.TempDir(), "pki")
	certificates, err := pki.EnsureCertificates(dir, "127.0.0.1", clk)
	require.NoError(t, err)
	authority, err := certificates.Pool()
	require.NoError(t, err)
	n := &Node{cfg: Config{Address: "127.0.0.1", Certificates: dir}, clk: clk, log: zerolog.New(zerolog.NewTestWriter(t))}
	n.ctx, n.cancel = context.WithCancel(t.Context())
	s, err := startServer(n, certificates)
	require.NoError(t, err)
	t.Cleanup(func() { n.cancel(); s.stop(); n.loops.Wait() })

	// served is when the certificate of a new connection ends.
	served := func() (time.Time, error) {
		mine, err := tls.LoadX509KeyPair(certificates.ClientCertificate, certificates.ClientKey) // as the API server does
		if err != nil {
			return time.Time{}, err
		}
		client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
			RootCAs: authority, Certificates: []tls.Certificate{mine}, Time: clk.Now,
		}}}
		answer, err := client.Get(fmt.Sprintf("https://127.0.0.1:%d/healthz", s.port))
		if err != nil {
			return time.Time{}, err
		}
		return answer.TLS.PeerCertificates[0].NotAfter, answer.Body.Close()
	}
	first, err := served()
	require.NoError(t, err)
	for range 3 { // years
		require.Eventually(t, func() bool { return clk.Timers() > 0 }, time.Minute, time.Millisecond, "the node waits for the next look")
		clk.Step(pki.CertificateLife - pki.CertificateRenewal + time.Hour)
		require.Eventually(t, func() bool {
			next, err := served()
			if err != nil || !next.After(first) {
				return false
			}
			first = next
			return true
		}, time.Minute, 10*time.Millisecond, "a new certificate")
		require.Positive(t, first.Sub(clk.Now()))
	}
}

func TestIdleness(t *testing.T) {
	clk := clock.NewFake(time.Unix(1000, 0))
	i := capacity.Idleness{Cpus: 2, Clk: clk}
	require.False(t, i.Pods(0, 0), "nothing is known yet")
	for _, tc := range []struct {
		used, waited time.Duration
		idle         bool
	}{
		{10 * time.Millisecond, 0, true},
		{1900 * time.Millisecond, 0, false},
		{100 * time.Millisecond, 900 * time.Millisecond, false}, // others have the processors
		{0, 0, true},
	} {
		clk.Step(time.Second)
		require.Equal(t, tc.idle, i.Pods(i.Used+tc.used, i.Waited+tc.waited))
	}
}
