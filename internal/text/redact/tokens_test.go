package redact_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/text/redact"
)

func TestTokensOfTasksAreReplaced(t *testing.T) {
	token := "fbt_" + strings.Repeat("aZ9-_", 28)
	for text, want := range map[string]string{
		"":                         "",
		"no token":                 "no token",
		"https://h/t/" + token:     "https://h/t/[token of a task]",
		token + "/x " + token:      "[token of a task]/x [token of a task]",
		`{"env": "` + token + `"}`: `{"env": "[token of a task]"}`,
		"cut: " + token[:60]:       "cut: [token of a task]",
		"a short word: fbt_table":  "a short word: fbt_table",
	} {
		require.Equal(t, want, redact.Tokens(text), text)
	}
}
