package secret

import (
	"slices"
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/secret/aws"
	"github.com/flyte-binary/flyte-binary/secret/azure"
	"github.com/flyte-binary/flyte-binary/secret/gcp"
	"github.com/flyte-binary/flyte-binary/secret/kubernetes"
	"github.com/flyte-binary/flyte-binary/secret/local"
	"github.com/flyte-binary/flyte-binary/secret/vault"
)

// The names of backends.
const (
	Kubernetes = "kubernetes"
	Local      = "local"
	Vault      = "vault"
	AWS        = "aws"
	GCP        = "gcp"
	Azure      = "azure"
)

// Config is the section secrets.
type Config struct {
	// Backends store the secrets: kubernetes, local, vault, aws, gcp, azure. They are asked in this order, and new secrets
	// go to the first. Each has a section of its own. Defaults to kubernetes.
	Backends []string `config:"backends"`
	// Kubernetes are Secrets of one namespace. Processes with the target api have no cluster, so they need another backend.
	Kubernetes kubernetes.Config `config:"kubernetes"`
	// Local is an encrypted store in a directory, for installations of one process, such as the demo.
	Local local.Config `config:"local"`
	// Vault is HashiCorp Vault.
	Vault vault.Config `config:"vault"`
	// AWS is AWS Secrets Manager.
	AWS aws.Config `config:"aws"`
	// GCP is Google Cloud Secret Manager.
	GCP gcp.Config `config:"gcp"`
	// Azure is Azure Key Vault.
	Azure azure.Config `config:"azure"`
}

// DefaultConfig stores secrets in the cluster.
func DefaultConfig() Config {
	return Config{
		Backends: []string{Kubernetes}, Local: local.DefaultConfig(), Vault: vault.DefaultConfig(),
		AWS: aws.DefaultConfig(), GCP: gcp.DefaultConfig(), Azure: azure.DefaultConfig(),
	}
}

// Validate lists the fields that are wrong. Only the sections of backends in the list are judged.
func (c Config) Validate() error {
	var found invalid.Fields
	sections := map[string]func() error{
		Kubernetes: c.Kubernetes.Validate, Local: c.Local.Validate, Vault: c.Vault.Validate,
		AWS: c.AWS.Validate, GCP: c.GCP.Validate, Azure: c.Azure.Validate,
	}
	for i, name := range c.Backends {
		validate, known := sections[name]
		if !known {
			all := []string{Kubernetes, Local, Vault, AWS, GCP, Azure}
			found.Add("backends[%d]: must be one of %s, got %q", i, strings.Join(all, ", "), name)
			continue
		}
		found.If(slices.Contains(c.Backends[:i], name), "backends[%d]: %q is listed twice", i, name)
		found.Section(name, validate())
	}
	return found.Err()
}
