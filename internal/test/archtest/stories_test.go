package archtest_test

import (
	"flag"
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the generated part of docs/track-record.md")

// stories is how many there are, numbered without gaps.
const stories = 36

// story is one sentence about what went wrong elsewhere, from the comment of the test that would catch it:
//
//	Story R7: an executor kept every pod of the cluster in memory and never came up.
type story struct {
	text  string
	tests []string
}

var (
	storyLine  = regexp.MustCompile(`(?s)Story R(\d+): (.*?\.)(?:\s|$)`)
	pythonTest = regexp.MustCompile(`(?ms)^(?:async )?def (test_\w+)\([^:]*(?::[^:\n]*)*?:\n\s+"""(.*?)"""`)
)

// TestTrackRecordIsCurrent compares the table in docs/track-record.md with the stories that the tests tell.
func TestTrackRecordIsCurrent(t *testing.T) {
	found := map[int]*story{}
	add := func(test, comment string) {
		for _, match := range storyLine.FindAllStringSubmatch(comment, -1) {
			number, err := strconv.Atoi(match[1])
			require.NoError(t, err)
			text := strings.Join(strings.Fields(match[2]), " ")
			if found[number] == nil {
				found[number] = &story{text: text}
			}
			require.Equal(t, found[number].text, text, "story R%d has two texts; %s", number, test)
			found[number].tests = append(found[number].tests, test)
		}
	}
	for _, s := range sources(t) {
		if !s.test {
			continue
		}
		for _, declaration := range s.file.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok && strings.HasPrefix(function.Name.Name, "Test") {
				add(function.Name.Name, function.Doc.Text())
			}
		}
	}
	scripts, err := filepath.Glob("../../../tests/e2e/test_*.py")
	require.NoError(t, err)
	require.NotEmpty(t, scripts)
	for _, path := range scripts {
		body, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, match := range pythonTest.FindAllStringSubmatch(string(body), -1) {
			add("e2e "+match[1], match[2])
		}
	}
	var table strings.Builder
	table.WriteString("| | what went wrong elsewhere | what would catch it here |\n|---|---|---|\n")
	for number := 1; number <= stories; number++ {
		require.NotNil(t, found[number], "no test tells story R%d", number)
		names := found[number].tests
		slices.Sort(names)
		for i, name := range names {
			names[i] = "`" + name + "`"
		}
		fmt.Fprintf(&table, "| R%d | %s | %s |\n", number, found[number].text, strings.Join(slices.Compact(names), ", "))
	}
	require.Len(t, found, stories, "a story has a number beyond R%d", stories)
	const path, begin, end = "../../../docs/track-record.md", "<!-- stories -->\n", "<!-- end -->"
	body, err := os.ReadFile(path)
	require.NoError(t, err)
	head, rest, ok := strings.Cut(string(body), begin)
	require.True(t, ok)
	_, tail, ok := strings.Cut(rest, end)
	require.True(t, ok)
	wanted := head + begin + table.String() + end + tail
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(wanted), 0o644))
		return
	}
	require.Equal(t, wanted, string(body), "run `go test ./internal/test/archtest -update`")
}
