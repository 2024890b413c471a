package redact

import (
	"regexp"
	"strings"
)

// taskTokens are the tokens of attempts and apps, as access/tasks makes them, and long pieces of their beginnings.
var taskTokens = regexp.MustCompile(`fbt_[A-Za-z0-9_-]{20,}`)

// Tokens returns a text in which tokens of tasks are replaced. They are known by their form: who reads what a program says does
// not know which token it had.
func Tokens(text string) string {
	if !strings.Contains(text, "fbt_") {
		return text
	}
	return taskTokens.ReplaceAllString(text, "[token of a task]")
}
