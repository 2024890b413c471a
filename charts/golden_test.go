package charts_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

var update = flag.Bool("update", false, "write the golden files anew")

// valueSets are the names of the files in testdata/values.
func valueSets(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/values/*.yaml")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(paths), 10)
	return paths
}

// monitoringKinds tells helm that the cluster has Prometheus' operator, policyKind that its Kubernetes has policies that change objects.
var (
	monitoringKinds = []string{"--api-versions", "monitoring.coreos.com/v1/ServiceMonitor", "--api-versions", "monitoring.coreos.com/v1/PrometheusRule"}
	policyKind      = []string{"--api-versions", "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"}
)

func renderSet(t *testing.T, path string) string {
	t.Helper()
	args := []string{"-f", path}
	if strings.HasSuffix(path, "everything.yaml") {
		args = append(append(args, monitoringKinds...), policyKind...)
	}
	return render(t, args...)
}

// TestRenderings compares the release of each set of values with its golden file: go test ./charts -update writes them. It
// checks that the API server would know every field, and the server every key of its configuration.
func TestRenderings(t *testing.T) {
	for _, path := range valueSets(t) {
		name := filepath.Base(path)
		t.Run(strings.TrimSuffix(name, ".yaml"), func(t *testing.T) {
			text := renderSet(t, path)
			all := objects(t, text)
			for _, object := range all {
				requireKnownFields(t, object)
			}
			requireConfiguration(t, all)
			golden := filepath.Join("testdata/golden", name)
			text = abridge(text)
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(text), 0o600))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), text, "if this is what you want: go test ./charts -update")
		})
	}
}

var (
	random   = regexp.MustCompile(`\b[A-Za-z0-9]{20,40}\b`)
	checksum = regexp.MustCompile(`[0-9a-f]{64}`)
	labels   = regexp.MustCompile(`(?m)^ +(app\.kubernetes\.io/(version|managed-by)|helm\.sh/chart): .*\n`)
)

// abridge leaves out what says nothing: the definition, alerts and dashboards, which have tests of their own, digests, labels of versions, and the random credentials of a
// trial.
func abridge(text string) string {
	var kept []string
	for _, document := range strings.Split(text, "\n---\n") {
		switch {
		case strings.Contains(document, "kind: CustomResourceDefinition"), strings.Contains(document, "kind: PrometheusRule"),
			strings.Contains(document, "-dashboard-"):
			continue
		case strings.Contains(document, "kind: Secret\n"):
			document = random.ReplaceAllString(document, "RANDOM")
		}
		kept = append(kept, checksum.ReplaceAllString(document, "DIGEST"))
	}
	return labels.ReplaceAllString(strings.Join(kept, "\n---\n"), "")
}

// requireKnownFields decodes an object as strictly as kubectl's validation; kinds that only some clusters have are left out.
func requireKnownFields(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	if !clientgoscheme.Scheme.Recognizes(object.GroupVersionKind()) {
		require.Contains(t, []string{"CustomResourceDefinition", "HTTPRoute", "ServiceMonitor", "PrometheusRule"}, object.GetKind())
		return
	}
	text, err := yaml.Marshal(object.Object)
	require.NoError(t, err)
	codecs := serializer.NewCodecFactory(clientgoscheme.Scheme, serializer.EnableStrict)
	_, _, err = codecs.UniversalDeserializer().Decode(text, nil, nil)
	require.NoError(t, err, "%s %s", object.GetKind(), object.GetName())
}

// requireConfiguration reads the file as the server does, with the variables that come from Secrets.
func requireConfiguration(t *testing.T, all []*unstructured.Unstructured) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "flyte.yaml")
	require.NoError(t, os.WriteFile(path, []byte(serverFile(t, all)), 0o600))
	for _, container := range containers(t, one(t, all, "Deployment", release)) {
		for _, variable := range container.Env {
			if variable.ValueFrom == nil {
				continue
			}
			value := "secret-secret-secret-secret-secret"
			switch variable.Name {
			case "FLYTE_DATABASE_URL":
				value = "postgres://flyte:secret@postgres/flyte"
			case "FLYTE_EXECUTOR_POD_DEFAULTENV":
				value = "A=b,C=d"
			}
			t.Setenv(variable.Name, value)
		}
	}
	config, err := configuration.Load(path, nil)
	require.NoError(t, err)
	require.True(t, config.Replicas.Several, "two processes overlap in every upgrade")
	require.Equal(t, "0.0.0.0:8090", config.Server.Listen)
	require.False(t, config.Target != configuration.TargetAPI && config.Executor.InstallCRD, "the chart installs the definition")
}

// TestTheDefinitionIsTheServers: the chart's copy is that of the program, and doctor takes it for current.
func TestTheDefinitionIsTheServers(t *testing.T) {
	wanted, err := v1.CRD()
	require.NoError(t, err)
	rendered := one(t, objects(t, render(t, "-f", "testdata/values/minimal.yaml")), "CustomResourceDefinition", wanted.Name)
	for key, value := range wanted.Annotations {
		require.Equal(t, value, rendered.GetAnnotations()[key], "make generate copies the definition into the chart")
	}
	require.Equal(t, "keep", rendered.GetAnnotations()["helm.sh/resource-policy"])
	text, err := yaml.Marshal(wanted.Spec)
	require.NoError(t, err)
	var spec map[string]any
	require.NoError(t, yaml.Unmarshal(text, &spec))
	require.Equal(t, spec, rendered.Object["spec"])
}
