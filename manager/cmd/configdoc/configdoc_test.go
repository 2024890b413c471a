package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/manager"
)

func TestEveryKeyIsExplained(t *testing.T) {
	text, err := render(manager.DefaultConfig(), "../../..")
	require.NoError(t, err)
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "| `") {
			require.NotRegexp(t, `\|\s*\|$`, strings.TrimSpace(line), "a field without a comment")
		}
	}
}
