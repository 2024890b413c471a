package demo

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/demo/datadir"
	"github.com/flyte-binary/flyte-binary/demo/node/pki"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// A demo that runs for longer than the certificate of its port lives keeps a valid one in the files that the port reads, of the
// authority that clients know from the start.
func TestTheCertificateOfThePortIsRenewedWhileTheDemoRuns(t *testing.T) {
	dir, err := datadir.Open(filepath.Join(t.TempDir(), "data"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dir.Close()) })
	listener, err := listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	clk := clock.NewFake(time.Now())
	d := &demo{opts: Options{Access: true}, dir: dir, listener: listener, host: "localhost", clock: clk, log: zerolog.New(zerolog.NewTestWriter(t))}
	config := configuration.Config{}
	require.NoError(t, d.configureAccess(&config))
	authority, err := pki.EnsureCertificates(d.tls(), d.host, clk)
	require.NoError(t, err)
	known, err := authority.Pool()
	require.NoError(t, err)
	ends := func() (time.Time, error) {
		pair, err := tls.LoadX509KeyPair(config.Server.TLS.CertFile, config.Server.TLS.KeyFile)
		if err != nil {
			return time.Time{}, err // the certificate is new, and its key is not yet
		}
		_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: known, DNSName: d.host, CurrentTime: clk.Now()})
		return pair.Leaf.NotAfter, err
	}
	before, err := ends()
	require.NoError(t, err)

	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { d.keepCertificate(ctx) })
	for range 3 { // years
		require.Eventually(t, func() bool { return clk.Timers() > 0 }, time.Minute, time.Millisecond, "it waits for the next look")
		clk.Step(pki.CertificateLife - pki.CertificateRenewal + time.Hour)
		require.Eventually(t, func() bool {
			next, err := ends()
			if err != nil || !next.After(before) {
				return false
			}
			before = next
			return true
		}, time.Minute, 10*time.Millisecond, "a new certificate")
	}
	cancel()
	running.Wait()
}
