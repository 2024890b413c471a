package certfiles_test

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/test/certtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/certfiles"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// stateOf is a connection whose client has a certificate that was verified with the pool.
func stateOf(t *testing.T, pool *x509.CertPool, certFile, keyFile string) *tls.ConnectionState {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	require.NoError(t, err)
	chains, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	require.NoError(t, err)
	return &tls.ConnectionState{VerifiedChains: chains}
}

// TestAuthoritiesKnowTheirOwn: a port may trust several authorities, each for another purpose.
func TestAuthoritiesKnowTheirOwn(t *testing.T) {
	ours, theirs, dir := certtest.New(t), certtest.New(t), t.TempDir()
	now := clock.NewFake(time.Now())
	file := filepath.Join(dir, "ca.pem")
	text, err := os.ReadFile(ours.File)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, text, 0o600))
	known, err := certfiles.NewAuthorities(file, now, zerolog.Nop())
	require.NoError(t, err)
	both := x509.NewCertPool()
	known.AddTo(both)
	require.True(t, both.Equal(ours.Pool))
	text, err = os.ReadFile(theirs.File)
	require.NoError(t, err)
	require.True(t, both.AppendCertsFromPEM(text))

	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	ours.IssueClient(t, "proxy", certFile, keyFile)
	mine := stateOf(t, both, certFile, keyFile)
	theirs.IssueClient(t, "proxy", certFile, keyFile)
	other := stateOf(t, both, certFile, keyFile)
	require.True(t, known.Issued(mine, nil))
	require.True(t, known.Issued(mine, []string{"another", "proxy"}))
	require.False(t, known.Issued(mine, []string{"another"}))
	require.False(t, known.Issued(other, []string{"proxy"}), "the name is right, the authority is another one")
	require.False(t, known.Issued(nil, nil))
	require.False(t, known.Issued(&tls.ConnectionState{}, nil), "no certificate")

	require.NoError(t, os.WriteFile(file, text, 0o600)) // the authority is replaced
	later := time.Now().Add(time.Minute)
	require.NoError(t, os.Chtimes(file, later, later))
	now.Step(time.Minute)
	require.False(t, known.Issued(mine, nil))
	require.True(t, known.Issued(other, nil))
	require.NoError(t, os.WriteFile(file, []byte("half a file"), 0o600))
	now.Step(time.Minute)
	require.True(t, known.Issued(other, nil), "what was read last holds")
	_, err = certfiles.NewAuthorities(file, now, zerolog.Nop())
	require.ErrorContains(t, err, "has no certificate in PEM")
}
