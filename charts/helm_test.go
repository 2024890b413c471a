package charts_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
)

// chart is the directory of the chart.
const chart = "flyte-binary"

// release and namespace are those of all renderings.
const (
	release   = "flyte-binary"
	namespace = "flyte"
)

// helm runs the real helm, without anything of the user's own, and returns what it printed. kubeconfig may be empty.
func helm(t *testing.T, kubeconfig string, args ...string) (string, error) {
	t.Helper()
	program, err := filepath.Abs("../.bin/helm")
	require.NoError(t, err)
	if _, err := os.Stat(program); err != nil {
		t.Skip("helm is not built: run `make helm`")
	}
	home := t.TempDir()
	var out bytes.Buffer
	command := exec.CommandContext(context.WithoutCancel(t.Context()), program, args...)
	command.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "KUBECONFIG=" + kubeconfig, "HELM_CACHE_HOME=" + home, "HELM_CONFIG_HOME=" + home, "HELM_DATA_HOME=" + home}
	command.Stdout, command.Stderr = &out, &out
	err = command.Run()
	return out.String(), err
}

// render returns the text of the release.
func render(t *testing.T, args ...string) string {
	t.Helper()
	text, err := helm(t, "", append([]string{"template", release, chart, "--namespace", namespace}, args...)...)
	require.NoError(t, err, text)
	return text
}

// objects splits a rendering.
func objects(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var found []*unstructured.Unstructured
	for _, document := range strings.Split("\n"+text, "\n---") {
		content := map[string]any{}
		require.NoError(t, yaml.Unmarshal([]byte(document), &content), document)
		if len(content) > 0 {
			found = append(found, &unstructured.Unstructured{Object: content})
		}
	}
	require.NotEmpty(t, found)
	return found
}

// one returns the only object of a kind and name.
func one(t *testing.T, all []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	t.Helper()
	for _, object := range all {
		if object.GetKind() == kind && object.GetName() == name {
			return object
		}
	}
	require.FailNow(t, "no such object", "%s %s", kind, name)
	return nil
}

// serverFile is the file of the server in a rendering.
func serverFile(t *testing.T, all []*unstructured.Unstructured) string {
	t.Helper()
	text, found, err := unstructured.NestedString(one(t, all, "ConfigMap", release).Object, "data", "flyte.yaml")
	require.NoError(t, err)
	require.True(t, found)
	return text
}

// writeKubeconfig writes a kubeconfig for the API server of the test.
func writeKubeconfig(t *testing.T, cluster *kubetest.Cluster) string {
	t.Helper()
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "test",
		"clusters": []any{map[string]any{"name": "test", "cluster": map[string]any{"server": cluster.Config.Host, "insecure-skip-tls-verify": true}}},
		"users":    []any{map[string]any{"name": "test", "user": map[string]any{"token": cluster.Config.BearerToken}}},
		"contexts": []any{map[string]any{"name": "test", "context": map[string]any{"cluster": "test", "user": "test"}}},
	})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}
