package query_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/runs/query"
)

// TestCases checks what the parser of the console is checked with, too.
func TestCases(t *testing.T) {
	body, err := os.ReadFile("testdata/cases.json")
	require.NoError(t, err)
	var cases [][2]json.RawMessage
	require.NoError(t, json.Unmarshal(body, &cases))
	require.NotEmpty(t, cases)
	for _, c := range cases {
		var text string
		require.NoError(t, json.Unmarshal(c[0], &text))
		t.Run(text, func(t *testing.T) {
			node, err := query.Parse(text)
			var want string
			if json.Unmarshal(c[1], &want) == nil {
				require.NoError(t, err)
				require.Equal(t, want, node.String())
				return
			}
			var refused query.SyntaxError
			require.NoError(t, json.Unmarshal(c[1], &refused))
			require.Equal(t, &refused, err)
		})
	}
}

func TestLimits(t *testing.T) {
	_, err := query.Parse(strings.Repeat("a ", 500))
	require.ErrorContains(t, err, "A query may have 30 conditions.")
	_, err = query.Parse(strings.Repeat("a", 1001))
	require.ErrorContains(t, err, "A query may have 1000 characters; this has 1001.")
	_, err = query.Parse("a\x00b")
	require.ErrorContains(t, err, "without NUL")
	_, err = query.Parse("phase:faild")
	require.EqualError(t, err, `at 1, "phase:faild": There is no phase "faild". There are queued, waiting, initializing, running, paused, `+
		`succeeded, recovered, failed, timed-out, aborted. Did you mean "failed"?`)
}

// FuzzParse checks that what is parsed has bounds and that a problem has a place.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`phase:failed -label:team=ml or owner:me`, `(a "b) c`, `created:2026-03-01 -(x y)`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		node, err := query.Parse(text)
		if err == nil {
			require.NotNil(t, node)
			return
		}
		var problem *query.SyntaxError
		require.ErrorAs(t, err, &problem)
		require.Positive(t, problem.At)
		require.NotEmpty(t, problem.Message)
	})
}
