package archtest_test

import (
	"go/ast"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOnlyVerdictsMoveActions: the store sets the phase of a row where it begins and where a verdict of runs/state moves
// it, and nowhere else. A verdict cannot be made outside of runs/state.
func TestOnlyVerdictsMoveActions(t *testing.T) {
	position := map[string]bool{"Phase": true, "Attempt": true, "Version": true}
	found := map[string]int{}
	for _, s := range sources(t) {
		if (s.dir != "runs/store" && !strings.HasPrefix(s.dir, "runs/store/")) || s.test {
			continue
		}
		for _, decl := range s.file.Decls {
			function, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(function, func(n ast.Node) bool {
				assignment, ok := n.(*ast.AssignStmt)
				if !ok {
					return true
				}
				for _, to := range assignment.Lhs {
					field, ok := to.(*ast.SelectorExpr)
					if !ok || !position[field.Sel.Name] {
						continue
					}
					// t.To is what was observed, not a row.
					if inner, ok := field.X.(*ast.SelectorExpr); ok && inner.Sel.Name == "To" {
						continue
					}
					found[function.Name.Name]++
				}
				return true
			})
		}
	}
	require.Equal(t, map[string]int{"begin": 3, "move": 3}, found, "use batch.move with a verdict of state.Next")
}
