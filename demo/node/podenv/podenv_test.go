package podenv_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyte-binary/flyte-binary/demo/node/podenv"
)

func TestExpand(t *testing.T) {
	values := map[string]string{"A": "1", "B": "$(A)", "EMPTY": ""}
	for text, want := range map[string]string{
		"":              "",
		"plain":         "plain",
		"$(A)":          "1",
		"x$(A)y$(A)":    "x1y1",
		"$(B)":          "$(A)", // values are not expanded again
		"$(EMPTY)|":     "|",
		"$(MISSING)":    "$(MISSING)",
		"$$(A)":         "$(A)",
		"$$$(A)":        "$1",
		"$A":            "$A",
		"$":             "$",
		"$(A":           "$(A",
		"cost: 5$ (A)":  "cost: 5$ (A)",
		"${A} $(A) $()": "${A} 1 $()",
	} {
		require.Equal(t, want, podenv.Expand(text, func(name string) (string, bool) {
			value, ok := values[name]
			return value, ok
		}), text)
	}
}

// fake is a Source in memory.
type fake struct {
	configMaps map[string]*corev1.ConfigMap
	secrets    map[string]*corev1.Secret
}

func (f fake) ConfigMap(_ context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	if object, ok := f.configMaps[namespace+"/"+name]; ok {
		return object, nil
	}
	return nil, &podenv.MissingError{Kind: "ConfigMap", Namespace: namespace, Name: name}
}

func (f fake) Secret(_ context.Context, namespace, name string) (*corev1.Secret, error) {
	if object, ok := f.secrets[namespace+"/"+name]; ok {
		return object, nil
	}
	return nil, &podenv.MissingError{Kind: "Secret", Namespace: namespace, Name: name}
}

func resolver() podenv.Resolver {
	return podenv.Resolver{
		Source: fake{
			configMaps: map[string]*corev1.ConfigMap{"ns/cm": {
				Data: map[string]string{"colour": "red", "A": "config"}, BinaryData: map[string][]byte{"bin": []byte("b")},
			}},
			secrets: map[string]*corev1.Secret{"ns/s": {Data: map[string][]byte{"key": []byte("hidden")}}},
		},
		Node: podenv.Node{Name: "n", IP: "127.0.0.1", Allocatable: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("4Gi"),
		}},
	}
}

func pod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "p", UID: "u", Labels: map[string]string{"l/x": "1", "b": "2"},
			Annotations: map[string]string{"note": "n"},
		},
		Spec: corev1.PodSpec{ServiceAccountName: "sa"},
	}
}

func field(path string) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}
}

func quantity(name, divisor string) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{
		Resource: name, Divisor: resource.MustParse(divisor),
	}}
}

func key(name, key string, optional bool) (config, secret *corev1.EnvVarSource) {
	local := corev1.LocalObjectReference{Name: name}
	return &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: local, Key: key, Optional: &optional}},
		&corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: local, Key: key, Optional: &optional}}
}

func TestEnvironment(t *testing.T) {
	config, _ := key("cm", "colour", false)
	_, secret := key("s", "key", false)
	absentConfig, absentSecret := key("none", "x", true)
	absentKey, _ := key("cm", "x", true)
	yes := true
	c := &corev1.Container{
		Command: []string{"run", "$(A)"}, Args: []string{"$(POD)-$(COLOUR)", "$(NOPE)"},
		EnvFrom: []corev1.EnvFromSource{
			{Prefix: "P_", ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "cm"}}},
			{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "cm"}}},
			{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}}},
			{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "none"}, Optional: &yes}},
		},
		Env: []corev1.EnvVar{
			{Name: "A", Value: "1"},
			{Name: "B", Value: "$(A)-$(P_colour)-$(LATER)"},
			{Name: "LATER", Value: "2"},
			{Name: "A", Value: "$(A)$(A)"},
			{Name: "POD", ValueFrom: field("metadata.name")},
			{Name: "NS", ValueFrom: field("metadata.namespace")},
			{Name: "POD_UID", ValueFrom: field("metadata.uid")},
			{Name: "LABEL", ValueFrom: field("metadata.labels['l/x']")},
			{Name: "NOTE", ValueFrom: field("metadata.annotations['note']")},
			{Name: "NODE", ValueFrom: field("spec.nodeName")},
			{Name: "SA", ValueFrom: field("spec.serviceAccountName")},
			{Name: "IP", ValueFrom: field("status.podIP")},
			{Name: "HOST", ValueFrom: field("status.hostIP")},
			{Name: "CPU", ValueFrom: quantity("limits.cpu", "1")},
			{Name: "MCPU", ValueFrom: quantity("requests.cpu", "1m")},
			{Name: "MEM", ValueFrom: quantity("limits.memory", "1Mi")},
			{Name: "COLOUR", ValueFrom: config},
			{Name: "SECRET", ValueFrom: secret},
			{Name: "X1", ValueFrom: absentConfig},
			{Name: "X2", ValueFrom: absentSecret},
			{Name: "X3", ValueFrom: absentKey},
		},
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m")}},
	}
	env, err := resolver().Container(t.Context(), pod(), c)
	require.NoError(t, err)
	require.Equal(t, []string{
		"A=11", "B=1-red-$(LATER)", "COLOUR=red", "CPU=2", "HOST=127.0.0.1", "IP=127.0.0.1", "LABEL=1", "LATER=2", "MCPU=1500",
		"MEM=4096", "NODE=n", "NOTE=n", "NS=ns", "POD=p", "POD_UID=u", "P_A=config", "P_bin=b", "P_colour=red", "SA=sa",
		"SECRET=hidden", "bin=b", "colour=red", "key=hidden",
	}, env.List())
	require.Equal(t, []string{"run", "11", "p-red", "$(NOPE)"}, podenv.CommandLine(c, env))
}

func TestEnvironmentThatCannotBeResolved(t *testing.T) {
	config, _ := key("none", "x", false)
	noKey, _ := key("cm", "x", false)
	_, secret := key("none", "x", false)
	for name, tc := range map[string]struct {
		from    *corev1.EnvVarSource
		words   string
		missing bool
	}{
		"config map": {config, "environment variable V: ConfigMap ns/none does not exist", true},
		"key":        {noKey, `environment variable V: ConfigMap ns/cm has no key "x"`, true},
		"secret":     {secret, "environment variable V: Secret ns/none does not exist", true},
		"field":      {field("spec.hostname"), `the field "spec.hostname"`, false},
		"resource":   {quantity("cpu", "1"), `the resource field "cpu"`, false},
		"nothing":    {&corev1.EnvVarSource{}, "does not support this kind", false},
	} {
		t.Run(name, func(t *testing.T) {
			c := &corev1.Container{Env: []corev1.EnvVar{{Name: "V", ValueFrom: tc.from}}}
			_, err := resolver().Container(t.Context(), pod(), c)
			require.ErrorContains(t, err, tc.words)
			require.Equal(t, tc.missing, podenv.IsMissing(err))
		})
	}
}
