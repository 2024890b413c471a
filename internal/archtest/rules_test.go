package archtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/flyte-binary/flyte-binary/"

// source is one hand-written Go file of the tree.
type source struct {
	dir, path string
	file      *ast.File
	test      bool
}

func sources(t *testing.T) []source {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	var found []source
	set := token.NewFileSet()
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "gen" || name == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".go" || strings.HasPrefix(name, "zz_generated") {
			return nil
		}
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		found = append(found, source{filepath.ToSlash(filepath.Dir(rel)), filepath.ToSlash(rel), file, strings.HasSuffix(name, "_test.go")})
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, len(found), 50, "the walk must see the tree")
	return found
}

func TestEveryPackageHasOneDocComment(t *testing.T) {
	docs := map[string][]string{}
	packages := map[string]bool{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		packages[s.dir] = true
		if s.file.Doc != nil {
			docs[s.dir] = append(docs[s.dir], s.path)
		}
	}
	for dir := range packages {
		require.Len(t, docs[dir], 1, "package in %s must have exactly one doc comment", dir)
	}
}

func TestNoPackageIsNamedAfterNothing(t *testing.T) {
	banned := []string{"util", "utils", "common", "models", "interfaces", "impl", "helpers", "misc"}
	for _, s := range sources(t) {
		require.NotContains(t, banned, strings.TrimSuffix(s.file.Name.Name, "_test"), s.path)
	}
}

// seam says which folders may import what. The first rule that matches an import decides.
type seam struct {
	imports string   // prefix of the import path
	only    []string // folders, with everything below them
	because string
}

func seams() []seam {
	return []seam{
		{module + "manager", []string{"manager", "demo", "bench"}, "manager composes the services; none of them knows it"},
		{module + "deployer", []string{"deployer", "manager"}, "services meet through Connect clients"},
		{module + "executor/api", []string{"executor", "actions", "deployer", "manager", "demo", "internal/kubetest", "bench", "faults"}, "the TaskAction type is what actions and executor share"},
		{module + "runs/", []string{"runs", "manager", "bench", "demo"}, "services meet through Connect clients"},
		{module + "actions", []string{"actions", "manager", "bench"}, "services meet through Connect clients"},
		{module + "executor/namespaces", []string{"executor", "actions", "deployer", "manager"}, "the pods of a project share a namespace, whoever creates them"},
		{module + "executor/failure", []string{"executor", "deployer", "manager", "bench", "workers"}, "attempts fail alike, wherever they run"},
		{module + "executor/verdict", []string{"executor", "workers"}, "attempts are judged alike, wherever they run"},
		{module + "executor/podspec/rendering", []string{"executor", "workers"}, "commands are filled alike, wherever they run"},
		{module + "executor/podsecret", []string{"executor", "deployer", "manager", "demo"}, "what a container was given is kept out of messages, wherever it runs"},
		{module + "executor", []string{"executor", "deployer", "manager", "bench"}, "services meet through Connect clients"},
		{module + "copilot", []string{"copilot", "manager"}, "the co-pilot runs in the pods of tasks; services know its arguments only"},
		{module + "worker", []string{"worker", "manager"}, "workers run in the pods of reusable environments; services know their messages and variables only"},
		{module + "secret", []string{"secret", "manager"}, "services meet through Connect clients"},
		{module + "triggers", []string{"triggers", "manager", "bench"}, "services meet through Connect clients"},
		{module + "gateway", []string{"gateway", "manager", "bench"}, "services meet through Connect clients"},
		{module + "dataproxy", []string{"dataproxy", "manager", "bench"}, "services meet through Connect clients"},
		{module + "apps", []string{"apps", "manager", "bench"}, "services meet through Connect clients"},
		{module + "artifacts", []string{"artifacts", "manager", "bench"}, "services meet through Connect clients"},
		{module + "cache_service", []string{"cache_service", "manager", "bench"}, "services meet through Connect clients"},
		{module + "notifications", []string{"notifications", "manager", "bench"}, "services meet through Connect clients"},
		{module + "eventstream", []string{"eventstream", "manager", "bench"}, "services meet through Connect clients"},
		{module + "workers", []string{"workers", "manager", "bench"}, "services meet through Connect clients"},
		{module + "events", []string{"events", "manager", "bench"}, "services meet through Connect clients"},
		{"k8s.io/kubernetes", []string{"demo"}, "the API server is linked into the demo binary only"},
		{"k8s.io/", []string{"actions", "deployer", "executor", "secret/kubernetes", "demo", "manager", "internal/kubetest", "internal/obs/klogs", "tools", "bench", "faults"}, "the other services build without Kubernetes"},
		{"sigs.k8s.io/", []string{"actions", "deployer", "executor", "secret/kubernetes", "demo", "manager", "internal/kubetest", "internal/obs/klogs", "tools", "bench", "faults"}, "the other services build without Kubernetes"},
		{"github.com/jackc/pgx", []string{"runs", "cache_service", "notifications", "triggers", "artifacts", "apps", "workers", "internal/pgdb", "internal/pgtest", "internal/pgembed", "demo", "manager", "bench", "faults"}, "SQL stays in stores"},
		{"gocloud.dev/pubsub", []string{"eventstream"}, "one package speaks to topics and queues"},
		{"gocloud.dev", []string{"internal/blobstore"}, "one package speaks to object stores"},
		{"go.yaml.in/yaml", []string{"manager", "copilot"}, "configuration is read in one place"},
	}
}

func TestImportsKeepTheSeams(t *testing.T) {
	for _, s := range sources(t) {
		if s.test && strings.HasPrefix(s.dir, "internal/") {
			continue
		}
		for _, spec := range s.file.Imports {
			path := strings.Trim(spec.Path.Value, `"`)
			for _, rule := range seams() {
				if path != strings.TrimSuffix(rule.imports, "/") && !strings.HasPrefix(path, strings.TrimSuffix(rule.imports, "/")+"/") {
					continue
				}
				if rule.imports == module+"runs/" && s.test {
					break // a service's tests may run against the real runs service
				}
				allowed := slices.ContainsFunc(rule.only, func(dir string) bool { return s.dir == dir || strings.HasPrefix(s.dir, dir+"/") })
				if !allowed && s.test {
					break
				}
				require.True(t, allowed, "%s imports %s: %s", s.path, path, rule.because)
				break
			}
		}
	}
}

// Another project may import the API types without the rest of the tree.
func TestTaskActionTypesImportNothingOfOurs(t *testing.T) {
	seen := 0
	for _, s := range sources(t) {
		if s.test || (s.dir != "executor/api" && !strings.HasPrefix(s.dir, "executor/api/")) {
			continue
		}
		seen++
		for _, spec := range s.file.Imports {
			path := strings.Trim(spec.Path.Value, `"`)
			require.False(t, strings.HasPrefix(path, module), "%s imports %s", s.path, path)
		}
	}
	require.Positive(t, seen)
}

func TestConnectErrorsAreMadeInOnePlace(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || s.dir == "internal/rpc" || strings.HasPrefix(s.dir, "internal/rpc/") {
			continue
		}
		ast.Inspect(s.file, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				return true
			}
			selector, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			name, ok := selector.X.(*ast.Ident)
			require.False(t, ok && name.Name == "connect" && selector.Sel.Name == "NewError",
				"%s makes a Connect error; return an error of internal/rpc instead", s.path)
			return true
		})
	}
}

// What one replica does for all is done through internal/leased: it says in one place what the loss of a lease means.
func TestLeasesAreHeldInOnePlace(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || s.dir == "internal/leased" {
			continue
		}
		ast.Inspect(s.file, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok || len(call.Args) != 4 {
				return true
			}
			selector, ok := call.Fun.(*ast.SelectorExpr)
			require.False(t, ok && selector.Sel.Name == "Hold", "%s holds a lease itself; use leased.Loop, leased.While or leased.Once", s.path)
			return true
		})
	}
}

func TestServicesDoNotAskTheMachineForTime(t *testing.T) {
	for _, s := range sources(t) {
		service := slices.ContainsFunc([]string{"runs", "actions", "executor", "events", "dataproxy", "cache_service", "copilot"}, func(dir string) bool {
			return s.dir == dir || strings.HasPrefix(s.dir, dir+"/")
		})
		if s.test || !service {
			continue
		}
		ast.Inspect(s.file, func(node ast.Node) bool {
			selector, ok := node.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			name, ok := selector.X.(*ast.Ident)
			require.False(t, ok && name.Name == "time" && (selector.Sel.Name == "Now" || selector.Sel.Name == "Sleep"),
				"%s uses time.%s; take a clock.Clock", s.path, selector.Sel.Name)
			return true
		})
	}
}

func TestPagesNameRealTests(t *testing.T) {
	names := map[string]bool{}
	for _, s := range sources(t) {
		for _, decl := range s.file.Decls {
			if function, ok := decl.(*ast.FuncDecl); ok {
				names[function.Name.Name] = true
			}
		}
	}
	for _, name := range []string{"docs/faults-not-inherited.md", "docs/promises.md"} {
		page, err := os.ReadFile("../../" + name)
		require.NoError(t, err)
		named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(page), -1)
		require.Greater(t, len(named), 20)
		for _, match := range named {
			require.True(t, names[match[1]], "%s names %s, which does not exist", name, match[1])
		}
	}
}
