package manager

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/flyte-binary/flyte-binary/manager/port"
)

func certificateUntil(t *testing.T, end time.Time) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: end}
	body, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: body})
}

func TestCertificatesOfTheCluster(t *testing.T) {
	soon, late := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2036, 1, 1, 0, 0, 0, 0, time.UTC)
	require.Empty(t, port.ClusterCertificates(&rest.Config{BearerToken: "a pod has a token"}))
	file := filepath.Join(t.TempDir(), "client.crt")
	cluster := &rest.Config{TLSClientConfig: rest.TLSClientConfig{
		CertFile: file, CAData: slices.Concat(certificateUntil(t, late), []byte("# no certificate\n"), certificateUntil(t, soon)),
	}}
	require.Equal(t, map[string]time.Time{"authority": soon}, port.ClusterCertificates(cluster), "the first to expire; the file is not there yet")
	require.NoError(t, os.WriteFile(file, certificateUntil(t, late), 0o600))
	require.Equal(t, map[string]time.Time{"authority": soon, "client": late}, port.ClusterCertificates(cluster))
}
