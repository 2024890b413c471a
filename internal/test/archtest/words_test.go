package archtest_test

import (
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// banned are phrases that are not plain English, each with what to write instead.
var banned = []struct{ phrase, instead string }{
	{`(is|are|was|were) no [a-z]+`, "is not a"},
	{`of ours`, "name the owner: of this installation, of this replica, internal"},
	{`clock ahead of ours`, "name both clocks"},
	{`likewise`, "repeat the statement"},
	{`(takes?|taking|taken|took) up`, "claim, pick up, use"},
	{`(goes|go|going|went) on`, "continue, keep, resume"},
	{`(is|are) none of`, "is not one of, must be one of"},
	{`no more:`, "no longer"},
	{`in vain`, "without success, timed out"},
	{`by turns`, "alternately"},
	{`nobody|somebody`, "no one, or who or what it is"},
	{`whoever`, "the caller, the client, the replica that"},
	{`(is|are|was|were|be|been|being|get|gets) told`, "is notified, receives, learns"},
	{`mends?|mended`, "fix, repair"},
	{`beside`, "alongside, next to, in addition to"},
	{`(stands?|stood) for`, "represent, mean"},
	{`(lies?|lay) (in|at|below|under|on|there|next)`, "is in, is at"},
	{`for want of`, "for lack of, because of missing"},
	{`so to speak|as it were`, "say it"},
	{`anew`, "again"},
	{`for ever`, "forever"},
	{`hence|thereby|henceforth`, "so, which"},
	{`hears? of`, "learn of, receive"},
	{`strangers?`, "anonymous, foreign, unknown"},
	{`(becomes?|became) of`, "the outcome of"},
	{`without a word|in silence`, "silently"},
	{`once more`, "again"},
	{`any ?more`, "no longer"},
	{`so many`, "the number, how many, enough"},
	{`upon`, "on, after, handled"},
	{`be had`, "is available"},
	{`the like|its like`, "similar ones"},
	{`tells? of|told of|(not|have|has|had|unless) told`, "report, contain, notify"},
	{`thus|whilst|amongst|dearer`, "so, while, among, slower"},
	{`lets? go`, "release"},
}

// sentences are pieces of text that people read: comments, texts of errors and logs, pages.
var (
	bannedWords = func() *regexp.Regexp {
		var all []string
		for _, b := range banned {
			all = append(all, b.phrase)
		}
		return regexp.MustCompile(`(?i)\b(?:` + strings.Join(all, "|") + `)(?:\W|$)`)
	}()
	// usual are negations that only look like the banned ones.
	usual         = regexp.MustCompile(`(?i)\bthere\s+(is|are|was|were)\s+no\b|\b(is|are|was|were) no (longer|more|fewer|less|later|earlier|other|one|such)\b| up to `)
	scriptComment = regexp.MustCompile(`(?m)^\s*\*[ /].*$|/\*.*$|(?:^|[\s;{])//.*$`)
	quotedCode    = regexp.MustCompile("`[^`\n]*`")
)

// TestPlainEnglish: comments, texts of errors and logs, and pages use short sentences and the field's standard terms.
func TestPlainEnglish(t *testing.T) {
	for text, found := range map[string]bool{
		"Repeating it is no error.": true, "a pod of ours": true, "it takes up slots": true, "it takes up to 3 s": false,
		"There is no error.": false, "it is no longer used": false, "\"x\" is no number": true, "does not run any more": true,
		"one of `nobody`": false, "the work goes on": true, "Nobody asks": true, "the besides": false, "he attends": false,
	} {
		require.Equal(t, found, plain(text) != "", text)
	}
	check := func(where, text string) {
		t.Helper()
		if phrase := plain(text); phrase != "" {
			t.Errorf("%s: %q in %q: %s", where, phrase, strings.TrimSpace(text), instead(phrase))
		}
	}
	for _, s := range sources(t) {
		// The first has the phrases themselves; the second names the Unix account nobody.
		if s.path == "internal/test/archtest/words_test.go" || s.path == "internal/pg/pgembed/account.go" {
			continue
		}
		for _, group := range s.file.Comments {
			var comment strings.Builder // the whole of it, since a phrase may be broken between two lines
			for _, line := range group.List {
				comment.WriteString(strings.TrimPrefix(line.Text, "//"))
			}
			check(s.path, comment.String())
		}
		if s.test {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
				if value, err := strconv.Unquote(text.Value); err == nil && strings.Count(value, " ") > 1 {
					check(s.path, value)
				}
			}
			return true
		})
	}
	pages(t, func(path, text string) {
		if filepath.Ext(path) == ".md" {
			for _, paragraph := range paragraphs(text) {
				check(path, paragraph)
			}
			return
		}
		for _, comment := range scriptComment.FindAllString(text, -1) {
			check(path, comment)
		}
	})
}

// paragraphs returns the texts of a page, each on one line, since a phrase may be broken between two; rows of tables alone. Blocks of
// code are left out.
func paragraphs(page string) (all []string) {
	fenced, text := false, ""
	end := func() { all, text = append(all, text), "" }
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
			end()
		case fenced:
		case line == "":
			end()
		case strings.HasPrefix(line, "|"):
			end()
			text = line
			end()
		default:
			text += " " + line
		}
	}
	end()
	return all
}

// plain returns the first banned phrase of a text, outside of quoted code.
func plain(text string) string {
	text = usual.ReplaceAllString(quotedCode.ReplaceAllString(text, ""), " ")
	return strings.Trim(bannedWords.FindString(text), " ,.;:")
}

func instead(phrase string) string {
	for _, b := range banned {
		if regexp.MustCompile(`(?i)^(?:` + b.phrase + `)\W?$`).MatchString(phrase) {
			return b.instead
		}
	}
	return ""
}

// pages calls f with every page of the documentation, source of the console and file of the contract.
func pages(t *testing.T, f func(path, text string)) {
	t.Helper()
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	seen := 0
	for _, top := range []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "docs", "console/src", "proto"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if entry.IsDir() {
				if slices.Contains([]string{"third_party", "node_modules"}, entry.Name()) {
					return filepath.SkipDir
				}
				return nil
			}
			if !slices.Contains([]string{".md", ".ts", ".tsx", ".proto"}, filepath.Ext(path)) {
				return nil
			}
			body, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			seen++
			f(filepath.ToSlash(rel), string(body))
			return nil
		})
		require.NoError(t, err)
	}
	require.Greater(t, seen, 500, "the walk must see the pages, the console and the contract")
}
