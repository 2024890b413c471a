package charts_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// installable is the least that renders.
var installable = []string{"--set", "database.url=postgres://flyte@postgres/flyte", "--set", "storage.url=s3://bucket", "--set", "config.access.open=true"}

func configurationOf(t *testing.T, all []*unstructured.Unstructured) map[string]any {
	t.Helper()
	content := map[string]any{}
	require.NoError(t, yaml.Unmarshal([]byte(serverFile(t, all)), &content))
	return content
}

func TestLint(t *testing.T) {
	for _, path := range valueSets(t) {
		text, err := helm(t, "", "lint", "--strict", chart, "-f", path)
		require.NoError(t, err, text)
	}
}

// TestWrongValues: what is refused, and the words that help.
func TestWrongValues(t *testing.T) {
	for _, wrong := range []struct {
		args []string
		says string
	}{
		{[]string{"--set", "replicas=3"}, "additional properties 'replicas' not allowed"},
		{[]string{"--set", "image.name=x"}, "additional properties 'name' not allowed"},
		{[]string{"--set", "replicaCount=two"}, "at '/replicaCount': got string, want integer"},
		{[]string{"--set", "trial=maybe"}, "at '/trial': got string, want boolean"},
		{[]string{"--set", "target=web"}, "at '/target': value must be one of 'all', 'api', 'controller'"},
		{[]string{"--set", "database.url=postgres://flyte:hunter2@postgres/flyte"}, "at '/database/url'"},
		{[]string{"--set", "database.url="}, "database.url is required: postgres://USER@HOST:5432/NAME"},
		{[]string{"--set", "storage.url="}, "storage.url is required"},
		{[]string{"--set", "storage.url=minio"}, "at '/storage/url'"},
		{[]string{"--set", "database.urlKey=url"}, "set database.existingSecret to its name"},
		{[]string{"--set", "target=api"}, "name vault, aws, gcp or azure"},
		{[]string{"--set", "dropManagedFields.enabled=true"}, "needs admissionregistration.k8s.io/v1/MutatingAdmissionPolicy, which Kubernetes has since 1.36"},
		{[]string{"--set", "mode=web"}, "at '/mode': value must be one of '', 'all', 'api', 'controller'"},
		{[]string{"--set", "mode=api"}, "name vault, aws, gcp or azure"},
		{[]string{"--set", "target=controller"}, "controlPlane.url is required with mode controller"},
		{[]string{"--set", "mode=controller"}, "controlPlane.url is required with mode controller"},
		{[]string{"--set", "mode=controller,controlPlane.url=http://flyte"}, "installation is required with mode controller: the id that flyte-binary clusters add prints"},
		{[]string{"--set", "mode=controller,controlPlane.url=http://flyte,installation=a"}, "controlPlane.credentialSecret is required with mode controller"},
		{[]string{"--set", "mode=controller,ingress.enabled=true,ingress.host=x"}, "nothing connects to it"},
		{[]string{"--set", "mode=controller,cluster.remotes[0].id=east,cluster.remotes[0].url=http://east"}, "it belongs to the release of the API"},
		{[]string{"--set", "trial=true,mode=controller"}, "a trial runs everything in one release"},
		{[]string{"--set", "cluster.remotes[0].id=east,cluster.remotes[0].url=http://east"}, "auth.existingSecret is required with cluster.remotes"},
		{[]string{"--set", "trial=true,target=api"}, "a trial runs everything in one release"},
		{[]string{"--set", "tasks.namespaces={default}"}, "tasks.namespaces: default is the namespace of the server"},
		{[]string{"--set", "ingress.enabled=true"}, "ingress.host is required"},
		{[]string{"--set", "httpRoute.enabled=true"}, "httpRoute.hostnames and httpRoute.parentRefs are required"},
		{[]string{"--set", "config.access=null"}, "config.access is required: who may use the installation"},
		{[]string{"--set", "config.access.local.adminPassword=hunter2"}, "FLYTE_ACCESS_LOCAL_ADMINPASSWORD"},
		{[]string{"--set", "config.access.issuers[0].clientSecret=hunter2"}, "name a file of it in clientSecretFile"},
		{[]string{"--set", "config.access.local.accounts[0].password=hunter22"}, "name a file of it in passwordFile"},
		{[]string{"--set", "auth.tls.existingSecret=x"}, "a certificate alone opens nothing"},
		{[]string{"--set", "proxy.caSecret=x"}, "tls.existingSecret is required with proxy.caSecret"},
		{[]string{"--set", "proxy.caSecret=x,tls.existingSecret=y"}, "proxy.clientNames is required"},
		{[]string{"--set", "config.auth.internalToken=hunter2"}, "config.auth.internalToken: a ConfigMap is not a place for a secret"},
		{[]string{"--set", "config.storage.s3.secretAccessKey=hunter2"}, "FLYTE_STORAGE_S3_SECRETACCESSKEY"},
	} {
		text, err := helm(t, "", append(append([]string{"template", release, chart}, installable...), wrong.args...)...)
		require.Error(t, err, "%v was taken", wrong.args)
		require.Contains(t, text, wrong.says, "%v", wrong.args)
	}
}

// TestNotesFollowAccess: what is printed after an installation works as it stands, also where callers have to sign in.
func TestNotesFollowAccess(t *testing.T) {
	const plain, encrypted, signIn = `localhost:8088", insecure: true`, `flyte.example.com", insecure: false`, "Callers sign in"
	issuer := []string{"--set", "config.access.open=false", "--set", "config.access.issuers[0].url=https://login.example.com"}
	ingress := []string{"--set", "ingress.enabled=true,ingress.host=flyte.example.com,ingress.tlsSecret=tls"}
	for _, one := range []struct {
		args     []string
		has, not string
	}{
		{installable, plain, signIn},
		{[]string{"--set", "trial=true"}, plain, signIn},
		{slices.Concat(installable, issuer), signIn, "insecure"},
		{slices.Concat(installable, issuer, ingress), encrypted, signIn},
		{[]string{"--set", "trial=true,config.access.local.enabled=true"}, signIn, "Anyone who reaches the port"},
	} {
		text, err := helm(t, "", append([]string{"install", release, chart, "--dry-run=client"}, one.args...)...)
		require.NoError(t, err, text)
		_, notes, found := strings.Cut(text, "\nNOTES:")
		require.True(t, found, text)
		require.Contains(t, notes, one.has, "%v", one.args)
		require.NotContains(t, notes, one.not, "%v", one.args)
	}
}

// TestEveryKeyIsDescribed: the schema knows exactly the keys of values.yaml and says what each means.
func TestEveryKeyIsDescribed(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(chart, "values.schema.json"))
	require.NoError(t, err)
	var schema map[string]any
	require.NoError(t, json.Unmarshal(text, &schema))
	text, err = os.ReadFile(filepath.Join(chart, "values.yaml"))
	require.NoError(t, err)
	var values map[string]any
	require.NoError(t, yaml.Unmarshal(text, &values))
	values["global"] = nil // Helm's own
	requireDescribed(t, "", schema, values)
}

func requireDescribed(t *testing.T, path string, schema, values map[string]any) {
	t.Helper()
	properties, closed := schema["properties"].(map[string]any)
	if !closed {
		return
	}
	require.Equal(t, false, schema["additionalProperties"], path)
	for key := range values {
		require.Contains(t, properties, key, "%s%s is not in the schema", path, key)
	}
	for key, property := range properties {
		require.Contains(t, values, key, "%s%s has no default in values.yaml", path, key)
		content := property.(map[string]any)
		require.NotEmpty(t, content["description"], "%s%s has no description", path, key)
		if below, ok := values[key].(map[string]any); ok {
			requireDescribed(t, path+key+".", content, below)
		}
	}
}

// TestAChangedConfigurationReplacesThePods: the pod template carries its digest.
func TestAChangedConfigurationReplacesThePods(t *testing.T) {
	digest := func(args ...string) string {
		made := template(t, one(t, objects(t, render(t, append(installable, args...)...)), "Deployment", release))
		return made.Annotations["checksum/config"]
	}
	first := digest()
	require.Len(t, first, 64)
	require.Equal(t, first, digest())
	require.NotEqual(t, first, digest("--set", "config.logging.level=debug"))
}
