package configuration

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/flyte-binary/flyte-binary/clusters/credentials"
	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/internal/names/credential"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
)

// ClusterConfig says which Kubernetes cluster this process works on.
type ClusterConfig struct {
	// ID names the cluster in rows, assignments, Leases and logs. Every cluster of an installation has its own. serve
	// --cluster sets it. Defaults to default, the cluster of all queues that name none.
	ID string `config:"id"`
	// Labels say what the cluster is, for the placement of work, as a list of KEY=VALUE. Default none.
	Labels []string `config:"labels"`
}

// RemoteCluster is a cluster whose controller runs in another process.
type RemoteCluster struct {
	// ID is the cluster.id of that controller.
	ID string `config:"id"`
	// URL is where it serves the logs of its pods, as in http://flyte-controller.east:8090.
	URL string `config:"url"`
	// Token is the auth.internalToken of that controller. Empty means that of this process; then those who can read the configuration
	// of that cluster can do everything in the installation.
	Token string `config:"token" sensitive:"true"`
}

// ControlPlaneConfig says where a controller reaches the API of its installation.
type ControlPlaneConfig struct {
	// URL is the address of a process with target api or all, as in http://flyte.flyte:8090. Required with target
	// controller, and not used with any other.
	URL string `config:"url"`
	// Credential is that of this controller, as `flyte-binary clusters add` prints it. With it the controller may act for its own
	// cluster and needs no auth.internalToken.
	Credential string `config:"credential" sensitive:"true"`
	// CredentialFile has the credential, instead of credential. It is read again when it changes, so that a credential can be replaced
	// without a restart.
	CredentialFile string `config:"credentialFile"`
}

// HasCredential reports whether the controller has a credential of its own.
func (c ControlPlaneConfig) HasCredential() bool { return c.Credential != "" || c.CredentialFile != "" }

// Validate lists the fields that are wrong.
func (c ClusterConfig) Validate() error {
	var found invalid.Fields
	if err := validateClusterID(c.ID); err != nil {
		found.Add("%w", err)
	}
	found.If(len(c.Labels) > maxLabels, "labels: at most %d, got %d", maxLabels, len(c.Labels))
	for i, pair := range c.Labels {
		key, value, complete := strings.Cut(pair, "=")
		found.If(!complete || key == "", "labels[%d]: %q is not KEY=VALUE", i, pair)
		found.If(len(key) > 63 || len(value) > 63, "labels[%d]: its key and its value have at most 63 characters each", i)
	}
	return found.Err()
}

// maxLabels is how many labels a cluster may have.
const maxLabels = 64

// LabelMap has the labels by key.
func (c ClusterConfig) LabelMap() map[string]string {
	labels := make(map[string]string, len(c.Labels))
	for _, pair := range c.Labels {
		key, value, _ := strings.Cut(pair, "=")
		labels[key] = value
	}
	return labels
}

func validateClusterID(id string) error {
	if !ident.IsCluster(id) {
		return fmt.Errorf("id: %s, got %q", ident.ClusterRule, id)
	}
	return nil
}

// validateClusters checks what sections say together about targets and clusters.
func (c Config) validateClusters() error {
	var found invalid.Fields
	seen := map[string]bool{c.Cluster.ID: c.Target.Controller()}
	for i, remote := range c.Clusters {
		found.Section(fmt.Sprintf("clusters[%d]", i), validateClusterID(remote.ID))
		found.If(seen[remote.ID], "clusters[%d].id: cluster %q is configured twice", i, remote.ID)
		seen[remote.ID] = true
		if err := validateURL(remote.URL); err != nil {
			found.Add("clusters[%d].url: %w", i, err)
		}
		found.If(remote.Token == "" && c.Auth.InternalToken == "",
			"clusters[%d].token: required to read the logs of that cluster: it is the auth.internalToken of its controller", i)
	}
	if c.Target != TargetController {
		for i, store := range c.Runs.Placement.Stores {
			found.If(store.Base && !c.Storage.Has(store.Prefix),
				"runs.placement.stores[%d].base: requires %s in storage.extraPrefixes, since the API writes the inputs of runs there", i, store.Prefix)
		}
		return found.Err()
	}
	if err := validateURL(c.ControlPlane.URL); err != nil {
		found.Add("controlPlane.url: required with target controller: %w", err)
	}
	found.If(c.Auth.InternalToken == "" && !c.ControlPlane.HasCredential(),
		"controlPlane.credential: required with target controller, as flyte-binary clusters add prints it; or auth.internalToken, which may do everything")
	found.If(c.ControlPlane.Credential != "" && c.ControlPlane.CredentialFile != "", "controlPlane.credentialFile: not together with credential")
	found.If(c.ControlPlane.Credential != "" && !credential.WellFormed(credentials.Prefix, c.ControlPlane.Credential),
		"controlPlane.credential: want %s… as flyte-binary clusters add prints it; it is incomplete or mistyped", credentials.Prefix)
	found.If(c.Replicas.Installation == "",
		"replicas.installation: required with target controller; it must be the same in all processes of the installation")
	return found.Err()
}

func validateURL(text string) error {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") {
		return fmt.Errorf("want http://host:port or https://host:port, got %q", text)
	}
	return nil
}
