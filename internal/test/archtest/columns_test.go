package archtest_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// pageColumns is the longest line of a page, in characters: editors and reviews show two pages next to each other.
const pageColumns = 120

// unbreakable are parts of lines that stay on one line: links, and code.
var unbreakable = regexp.MustCompile("`[^`]+`|https?://\\S+|\\]\\([^)]+\\)")

// Lines of pages have at most 120 characters, apart from code, tables and long links.
func TestPagesHaveShortLines(t *testing.T) {
	pages(t, func(path, text string) {
		if !strings.HasSuffix(path, ".md") || strings.Contains(text, "<!-- Written by") || strings.Contains(text, "<!-- Generated") {
			return
		}
		fenced := false
		for n, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				fenced = !fenced
			}
			if fenced || strings.HasPrefix(strings.TrimSpace(line), "|") || utf8.RuneCountInString(line) <= pageColumns {
				continue
			}
			longest := 0
			for _, part := range unbreakable.FindAllString(line, -1) {
				longest = max(longest, utf8.RuneCountInString(part))
			}
			if longest < pageColumns/2 { // else the line may have no better place for a break
				t.Errorf("%s:%d has %d characters; break it at %d", path, n+1, utf8.RuneCountInString(line), pageColumns)
			}
		}
	})
}
