package namespaces

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/flyte-binary/flyte-binary/internal/test/proptest"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
)

func in(project, domain string) ident.Run {
	return ident.Run{Project: project, Domain: domain, Name: "r"}
}

func TestNamespacesByTemplate(t *testing.T) {
	for _, tc := range []struct {
		template, project, domain, want string
	}{
		{"flyte", "P", "D", "flyte"},
		{"{{ project }}-{{ domain }}", "flytesnacks", "development", "flytesnacks-development"},
		{"{{project}}-{{domain}}", "ml-platform-2", "production", "ml-platform-2-production"},
		{"{{domain}}-{{project}}", "ml-platform-2", "production", "production-ml-platform-2"},
		{"tasks-{{project}}", "a", "any", "tasks-a"},
		{"{{project}}-{{domain}}", "a-b", "c", "a-b-c"},
		{"{{project}}-{{domain}}", "a", "b-c", "a-b-c-*"},
		{"{{project}}-{{domain}}", "My_Project", "d", "my-project-d-*"},
		{"{{project}}-{{domain}}", "my-project", "d", "my-project-d"},
		{"{{project}}{{domain}}", "ab", "c", "abc-*"},
		{"{{project}}", "a-0123abcd", "d", "a-0123abcd-*"},
		{"{{project}}-{{domain}}", strings.Repeat("p", 63), "d", strings.Repeat("p", 54) + "-*"},
		{"{{project}}", "___", "d", "*"},
	} {
		parsed, err := Parse(tc.template)
		require.NoError(t, err)
		got, err := parsed.Namespace(in(tc.project, tc.domain))
		require.NoError(t, err)
		if prefix, hashed := strings.CutSuffix(tc.want, "*"); hashed {
			require.True(t, strings.HasPrefix(got, prefix), got)
			require.Len(t, got, len(prefix)+hashDigits)
			continue
		}
		require.Equal(t, tc.want, got)
	}
	for _, reserved := range []string{"kube-system", "kube-", "Kube_system"} {
		_, err := Template("{{project}}").Namespace(in(reserved, "d"))
		require.ErrorContains(t, err, "belongs to Kubernetes")
	}
}

// Pods of two projects never meet in one namespace by accident.
func TestNamespacesOfDifferentProjectsDiffer(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		chosen := rapid.SampledFrom([]string{
			"{{project}}-{{domain}}", "{{domain}}-{{project}}", "{{project}}{{domain}}", "x-{{project}}--{{domain}}-y",
			"{{project}}-{{domain}}-{{project}}", "{{domain}}a{{project}}",
		}).Draw(t, "template")
		parsed, err := Parse(chosen)
		require.NoError(t, err)
		name := rapid.StringOfN(rapid.RuneFrom([]rune("aA-_b")), 1, 6, -1)
		one, other := in(name.Draw(t, "p1"), name.Draw(t, "d1")), in(name.Draw(t, "p2"), name.Draw(t, "d2"))
		first, err := parsed.Namespace(one)
		require.NoError(t, err)
		second, err := parsed.Namespace(other)
		require.NoError(t, err)
		require.Empty(t, validation.IsDNS1123Label(first), first)
		require.Equal(t, one == other, first == second, "%v %v: %s", one, other, first)
	})
}

func FuzzNamespace(f *testing.F) {
	f.Add("{{project}}-{{domain}}", "a", "b")
	f.Fuzz(func(t *testing.T, text, project, domain string) {
		parsed, err := Parse(text)
		if err != nil {
			return
		}
		if name, err := parsed.Namespace(in(project, domain)); err == nil {
			require.Empty(t, validation.IsDNS1123Label(name), name)
		}
		for key, value := range parsed.labels(in(project, domain)) {
			require.Empty(t, validation.IsQualifiedName(key))
			require.Empty(t, validation.IsValidLabelValue(value))
		}
	})
}
