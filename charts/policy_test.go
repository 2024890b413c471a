package charts_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	psapi "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// template is the pod template of a workload.
func template(t *testing.T, workload *unstructured.Unstructured) *corev1.PodTemplateSpec {
	t.Helper()
	content, found, err := unstructured.NestedMap(workload.Object, "spec", "template")
	require.NoError(t, err)
	require.True(t, found)
	made := &corev1.PodTemplateSpec{}
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(content, made))
	return made
}

func containers(t *testing.T, workload *unstructured.Unstructured) []corev1.Container {
	t.Helper()
	spec := template(t, workload).Spec
	return slices.Concat(spec.InitContainers, spec.Containers)
}

// TestPolicies checks every workload of every set of values.
func TestPolicies(t *testing.T) {
	checks, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	require.NoError(t, err)
	restricted := psapi.LevelVersion{Level: psapi.LevelRestricted, Version: psapi.LatestVersion()}
	for _, path := range valueSets(t) {
		workloads := 0
		all := objects(t, renderSet(t, path))
		for _, object := range all {
			if object.GetKind() != "Deployment" && object.GetKind() != "StatefulSet" {
				continue
			}
			workloads++
			name := filepath.Base(path) + " " + object.GetName()
			made := template(t, object)
			for _, result := range checks.EvaluatePod(restricted, &made.ObjectMeta, &made.Spec) {
				require.True(t, result.Allowed, "%s: %s %s", name, result.ForbiddenReason, result.ForbiddenDetail)
			}
			require.False(t, *made.Spec.EnableServiceLinks, name)
			if object.GetKind() == "StatefulSet" || configurationOf(t, all)["target"] == "api" {
				require.False(t, *made.Spec.AutomountServiceAccountToken, "%s never calls the API server", name)
			}
			for _, container := range containers(t, object) {
				require.True(t, *container.SecurityContext.ReadOnlyRootFilesystem, name)
				require.NotNil(t, container.Resources.Limits.Memory(), name)
				require.False(t, container.Resources.Limits.Memory().IsZero(), "%s has no limit of memory", name)
				require.False(t, container.Resources.Requests.Cpu().IsZero(), "%s requests no CPU", name)
				require.False(t, strings.HasSuffix(container.Image, ":latest") || !strings.ContainsAny(container.Image, ":@"), "%s: %s", name, container.Image)
			}
		}
		require.Positive(t, workloads)
		requireNoSecretValues(t, filepath.Base(path), all)
	}
}

// requireNoSecretValues: a release has Secrets only in a trial, and nothing but references elsewhere.
func requireNoSecretValues(t *testing.T, name string, all []*unstructured.Unstructured) {
	t.Helper()
	for _, object := range all {
		require.True(t, object.GetKind() != "Secret" || name == "trial.yaml", "%s has a Secret", name)
		if object.GetKind() != "Deployment" {
			continue
		}
		for _, container := range containers(t, object) {
			for _, variable := range container.Env {
				require.True(t, variable.Value == "" || variable.Name == "TMPDIR" || strings.HasPrefix(variable.Name, "POSTGRES_"),
					"%s: %s has a value, not a reference", name, variable.Name)
			}
		}
	}
	if name == "trial.yaml" {
		secret := one(t, all, "Secret", release+"-trial")
		values, _, err := unstructured.NestedStringMap(secret.Object, "stringData")
		require.NoError(t, err)
		config := serverFile(t, all)
		for _, value := range values {
			require.NotContains(t, config, value)
		}
	}
}
