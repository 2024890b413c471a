package sentence_test

import (
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
)

var update = flag.Bool("update", false, "write the sentences of the server to the catalogue of the console")

const (
	root      = "../../.."
	catalogue = root + "/console/src/texts/server.json"
)

// entry is a sentence as the catalogue of the console has it.
type entry struct {
	Text string `json:"text"`
	// One is the text about one thing, if it counts.
	One string `json:"one,omitempty"`
	// Said means that it comes without its parts, so that it is known by its words.
	Said bool `json:"said,omitempty"`
}

// formats are the positions of the formats among the arguments of what makes sentences. Faults of the server are for its log, and stay
// English; so are calls that cannot be answered now.
var formats = map[string][]int{
	"sentence.New": {0}, "sentence.Say": {0}, "sentence.Count": {1, 2},
	"rpc.InvalidArgument": {1}, "rpc.NotFound": {0}, "rpc.AlreadyExists": {0}, "rpc.Aborted": {0}, "rpc.FailedPrecondition": {0},
	"rpc.ResourceExhausted": {0}, "rpc.TryLater": {1}, "rpc.PermissionDenied": {0}, "rpc.Unauthenticated": {0}, "rpc.OutOfRange": {0},
}

// forPrograms are directories whose errors only programs see: controllers, workers, tasks, the SDK, agents and visitors of apps.
var forPrograms = []string{
	"access/authserver", "access/bearers", "access/providers", "access/tasks", "actions", "apps/fleet", "apps/gateway", "cache_service",
	"clusters/credentials", "clusters/links", "clusters/outgoing", "executor", "mcp", "pools", "runs/store/op_record_action",
	"runs/store/op_report", "runs/launch/record_action", "runs/tracked", "runs/usage/record",
}

// TestTheConsoleKnowsTheSentences: the catalogue has each sentence of the server. The console's tests require a translation of each.
func TestTheConsoleKnowsTheSentences(t *testing.T) {
	found := collect(t)
	require.Greater(t, len(found), 250)
	rules := ofRules()
	require.Greater(t, len(rules), 15)
	for text := range rules {
		found[text] = entry{Text: text, Said: true}
	}
	var list []entry
	for _, text := range slices.Sorted(maps.Keys(found)) {
		list = append(list, found[text])
	}
	written, err := json.MarshalIndent(list, "", "  ")
	require.NoError(t, err)
	written = []byte(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(written)) + "\n")
	if *update {
		require.NoError(t, os.WriteFile(catalogue, written, 0o600))
	}
	had, err := os.ReadFile(catalogue)
	require.NoError(t, err)
	require.Equal(t, string(written), string(had), "run go test ./internal/wire/sentence -update, and translate what is new in console/src/texts")
}

func collect(t *testing.T) map[string]entry {
	found := map[string]entry{}
	files := token.NewFileSet()
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() {
			if rel != "." && (strings.HasPrefix(name, ".") || slices.Contains([]string{"bin", "console", "docs", "gen", "node_modules", "tests", "testdata", "tools"}, name)) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				return true
			}
			function := nameOf(call.Fun)
			at, ok := formats[function]
			isError := strings.HasPrefix(function, "rpc.")
			if !ok || forProgram(rel, isError) || len(call.Args) <= at[len(at)-1] {
				return true
			}
			texts := make([]string, len(at))
			for i, position := range at {
				literal, ok := literalOf(call.Args[position])
				if !ok {
					require.True(t, isError, "%s: the format of %s is no literal", files.Position(call.Pos()), function)
					return true
				}
				texts[i], _ = sentence.Split(literal, nil)
			}
			add(t, found, texts, function == "sentence.Say")
			return true
		})
		return nil
	}))
	return found
}

func add(t *testing.T, found map[string]entry, texts []string, said bool) {
	one := entry{Text: texts[len(texts)-1]}
	if !strings.ContainsFunc(placeholderless(one.Text), unicode.IsLetter) {
		return // free text
	}
	if len(texts) > 1 {
		one.One = texts[0]
	}
	before, known := found[one.Text]
	require.True(t, !known || before.One == one.One, "%q counts in two ways", one.Text)
	one.Said = said || before.Said
	found[one.Text] = one
}

func placeholderless(text string) string {
	for {
		from := strings.IndexByte(text, '{')
		until := strings.IndexByte(text, '}')
		if from < 0 || until < from {
			return text
		}
		text = text[:from] + text[until+1:]
	}
}

// forProgram reports whether only programs see what a file says: its errors, or all of it.
func forProgram(path string, isError bool) bool {
	return strings.HasPrefix(path, "internal/wire/") || isError && slices.ContainsFunc(forPrograms, func(one string) bool {
		return strings.HasPrefix(path, one+"/") || strings.HasPrefix(path, one+".")
	})
}

func nameOf(function ast.Expr) string {
	selector, ok := function.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	of, ok := selector.X.(*ast.Ident)
	if !ok {
		return ""
	}
	return of.Name + "." + selector.Sel.Name
}

// literalOf is the text of a literal, or of literals that are joined.
func literalOf(expression ast.Expr) (string, bool) {
	switch e := expression.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		left, ok := literalOf(e.X)
		right, also := literalOf(e.Y)
		return left + right, ok && also
	}
	return "", false
}
