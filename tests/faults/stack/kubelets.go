package stack

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"path/filepath"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyte-binary/flyte-binary/tests/faults/proxy"
)

// startAPI starts the proxy before the API server.
func (s *Stack) startAPI() error {
	pki := filepath.Join(s.Dir, "node", "pki")
	certificate, err := tls.LoadX509KeyPair(filepath.Join(pki, "client.crt"), filepath.Join(pki, "client.key"))
	if err != nil {
		return fmt.Errorf("the certificate of the API server: %w", err)
	}
	s.Kubelets = &proxy.Kubelets{Certificate: certificate, Address: func(ctx context.Context, name string) (string, error) {
		node, err := s.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(int(node.Status.DaemonEndpoints.KubeletEndpoint.Port))), nil
	}}
	s.API, err = proxy.NewAPI(s.url, token, s.Kubelets)
	return err
}
