package redact_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/flyte-binary/flyte-binary/internal/text/clip"
	"github.com/flyte-binary/flyte-binary/internal/text/redact"
)

func TestValuesAreReplaced(t *testing.T) {
	values := redact.New(map[string][]byte{
		"key": []byte("hunter2"), "longer": []byte("hunter2-and-more"), "quoted": []byte("a \"b\"\tc"), "url": []byte("p@ss/word"),
		"lines": []byte("-----BEGIN KEY-----\nbWFueSBieXRlcw\nshort\n-----END KEY-----\n"), "short": []byte("abc"),
		"newline": []byte("trailing\n"), "binary": {0, 1, 2, 255},
	})
	for text, want := range map[string]string{
		"":                                    "",
		"nothing":                             "nothing",
		"exec hunter2: not found":             "exec [secret key]: not found",
		"hunter2-and-more and hunter2":        "[secret longer] and [secret key]",
		strconv.Quote("x a \"b\"\tc y"):       `"x [secret quoted] y"`,
		"x a \"b\"\tc y":                      "x [secret quoted] y",
		"https://u:p%40ss%2Fword@host/":       "https://u:[secret url]@host/",
		"line bWFueSBieXRlcw of a key":        "line [secret lines] of a key",
		"a line that is short":                "a line that is short",
		"abc":                                 "abc", // too short to be looked for
		"in one line: trailing.":              "in one line: [secret newline].",
		"cut at its end: hunter2-and":         "cut at its end: [secret longer]",
		"2-and-more: cut at its beginning":    "[secret longer]: cut at its beginning",
		"hunter2-and" + clip.Gap + "and-more": "[secret longer]" + clip.Gap + "[secret longer]",
	} {
		require.Equal(t, want, values.Text(text), text)
	}
	require.Equal(t, "x", (*redact.Values)(nil).Text("x"))
	require.Nil(t, redact.New(map[string][]byte{"short": []byte("abc")}))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
		require.NotContains(t, fmt.Sprintf(verb, values), "hunter2")
	}
}

func TestNoValueIsLeftInAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[ -~]{4,40}`).Filter(func(s string) bool { return len(strings.TrimSpace(s)) >= redact.Shortest }).Draw(t, "value")
		before, after := rapid.StringMatching(`[a-z ]{0,20}`).Draw(t, "before"), rapid.StringMatching(`[a-z ]{0,20}`).Draw(t, "after")
		text := redact.New(map[string][]byte{"": []byte(value)}).Text(before + "\x00" + value + "\x01" + after)
		require.NotContains(t, strings.ReplaceAll(text, "[secret ]", ""), strings.TrimSpace(value))
	})
}
