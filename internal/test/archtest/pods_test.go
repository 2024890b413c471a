package archtest_test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPodsOfTasksComeFromOneBuilder: the policy on what tasks may ask of pods holds for every plugin, since only
// pods/podspec reads the pod spec of a task, and plugins make none of their own.
func TestPodsOfTasksComeFromOneBuilder(t *testing.T) {
	reads := 0
	for _, s := range sources(t) {
		if s.test || (!strings.HasPrefix(s.dir, "executor/") && !strings.HasPrefix(s.dir, "pods/")) {
			continue
		}
		ast.Inspect(s.file, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.SelectorExpr:
				if node.Sel.Name == "GetPodSpec" {
					require.Equal(t, "pods/podspec", s.dir, "%s reads the pod spec of a task; take the pod from podspec.Builder", s.path)
					reads++
				}
			case *ast.CompositeLit:
				made, _ := node.Type.(*ast.SelectorExpr)
				require.False(t, strings.HasPrefix(s.dir, "executor/plugins/") && made != nil &&
					slices.Contains([]string{"PodSpec", "PodTemplateSpec", "Container"}, made.Sel.Name),
					"%s makes pods of its own; take them from podspec.Builder", s.path)
			}
			return true
		})
	}
	require.Positive(t, reads)
}
