package port

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"time"

	"k8s.io/client-go/rest"
)

// ClusterCertificates is when the certificates of the connection to the API server expire: the client's own, and that of the
// authority that the client trusts, of several the first to expire. Files are read each time, since they may be renewed.
// What cannot be read is missing: the check of the API server fails then.
func ClusterCertificates(cluster *rest.Config) map[string]time.Time {
	found := map[string]time.Time{}
	for name, place := range map[string]struct {
		data []byte
		file string
	}{
		"client":    {cluster.CertData, cluster.CertFile},
		"authority": {cluster.CAData, cluster.CAFile},
	} {
		body := place.data
		if len(body) == 0 && place.file != "" {
			body, _ = os.ReadFile(place.file)
		}
		if expires, ok := firstExpiry(body); ok {
			found[name] = expires
		}
	}
	return found
}

// firstExpiry is when the first of the certificates in PEM expires.
func firstExpiry(body []byte) (first time.Time, found bool) {
	for {
		var block *pem.Block
		if block, body = pem.Decode(body); block == nil {
			return first, found
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			continue
		}
		if !found || certificate.NotAfter.Before(first) {
			first, found = certificate.NotAfter, true
		}
	}
}
