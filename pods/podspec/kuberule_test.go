package podspec_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/flyte-binary/flyte-binary/internal/kube/kuberule"
)

// TestOurRulesAreThoseOfKubernetes: services that build without Kubernetes refuse what it would refuse, and nothing else.
func TestOurRulesAreThoseOfKubernetes(t *testing.T) {
	rules := []struct {
		name  string
		ours  func(string) bool
		their func(string) []string
	}{
		{"variable", kuberule.IsVariable, validation.IsRelaxedEnvVarName},
		{"key", kuberule.IsKey, validation.IsQualifiedName},
		{"value", kuberule.IsValue, validation.IsValidLabelValue},
		{"label", kuberule.IsLabel, validation.IsDNS1123Label},
		{"name", kuberule.IsName, validation.IsDNS1123Subdomain},
		{"port", kuberule.IsPort, validation.IsValidPortName},
	}
	same := func(t require.TestingT, text string) {
		for _, rule := range rules {
			require.Equal(t, len(rule.their(text)) == 0, rule.ours(text), "%s %q", rule.name, text)
		}
	}
	for _, text := range []string{
		"", "a", "A", "1A", "a b", "a=b", "a\tb", "é", "a/b", "/a", "a/", "a/b/c", "A.b/c", "a..b", "-a", "a-", "a--b", "1", "..", ".", "_a", "a_",
		"example.com/key", "Example.com/key", "a\n", "\x7f", "~", " ",
		strings.Repeat("a", 15), strings.Repeat("a", 16), strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a", 253), strings.Repeat("a", 254),
		strings.Repeat("a", 253) + "/a", strings.Repeat("a", 254) + "/a", "a/" + strings.Repeat("a", 63), "a/" + strings.Repeat("a", 64),
	} {
		same(t, text)
	}
	rapid.Check(t, func(t *rapid.T) {
		same(t, rapid.StringMatching(`[-a-zA-Z0-9._/= é~]{0,20}`).Draw(t, "text"))
	})
	require.Equal(t, apivalidation.TotalAnnotationSizeLimitB, kuberule.MaxAnnotations)
}
