package archtest_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// bareEnum finds a column that holds an enum, or a small number with names, compared with a number.
var bareEnum = regexp.MustCompile(`(?i)\b(phase|action_type|cache_status|hold|runner|due|kind|source|relation_type|state)\s*` +
	`(=|<>|!=|<=|>=|<|>|IN|NOT\s+IN)\s*\(?\s*\d`)

// TestNoBareEnumNumbersInSQL: SQL text names its enum values, by constants such as those of runs/store/sqltext/sql_enums.go.
func TestNoBareEnumNumbersInSQL(t *testing.T) {
	for text, found := range map[string]bool{
		"WHERE a.phase NOT IN (5, 7)": true, "a.action_type = 1 AND": true, "hold <> 0": true, "phase = $1": false, "a.phase IN ": false,
	} {
		require.Equal(t, found, bareEnum.MatchString(text), text)
	}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
				require.NotRegexp(t, bareEnum, text.Value, s.path)
			}
			return true
		})
	}
}
