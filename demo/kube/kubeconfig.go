package kube

import (
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// writeKubeconfig writes the connection as a file for kubectl.
func (c *Cluster) writeKubeconfig() error {
	const name = "flyte-binary-demo"
	connection := c.RESTConfig()
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters[name] = &clientcmdapi.Cluster{Server: connection.Host, CertificateAuthorityData: connection.CAData}
	cfg.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: connection.BearerToken}
	cfg.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	cfg.CurrentContext = name
	content, err := clientcmd.Write(*cfg)
	if err != nil {
		return fmt.Errorf("encode the kubeconfig: %w", err)
	}
	return writePrivate(c.Kubeconfig(), content)
}
