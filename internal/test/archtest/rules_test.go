package archtest_test

import (
	"bytes"
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
	root, err := filepath.Abs("../../..")
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

// A reader of a package meets all its files at once.
func TestNoPackageHasMoreThanThirtyFiles(t *testing.T) {
	files := map[string]int{}
	for _, s := range sources(t) {
		if !s.test {
			files[s.dir]++
		}
	}
	for dir, n := range files {
		require.LessOrEqual(t, n, 30, "%s has %d files; move what changes together to a package of its own", dir, n)
	}
}

// TestPluginsAreSmall: what they share is in executor/plugins/operated and pods, so that a plugin for another operator is a day's work.
func TestPluginsAreSmall(t *testing.T) {
	const most = 500
	lines := map[string]int{}
	for _, s := range sources(t) {
		if s.test || !strings.HasPrefix(s.dir, "executor/plugins/") || s.dir == "executor/plugins/operated" {
			continue
		}
		content, err := os.ReadFile(filepath.Join("../../..", s.path))
		require.NoError(t, err)
		lines[s.dir] += bytes.Count(content, []byte("\n"))
	}
	require.Contains(t, lines, "executor/plugins/ray", "the walk must see the plugins")
	for dir, n := range lines {
		require.LessOrEqual(t, n, most, "%s has %d lines without its tests; move what other plugins may need to a package that they share", dir, n)
	}
}

// seam says which folders may import what. The first rule that matches an import decides.
type seam struct {
	imports string   // prefix of the import path
	only    []string // folders, with everything below them
	not     []string // folders below those, which may not
	because string
}

func (r seam) allows(dir string) bool {
	in := func(folder string) bool { return dir == folder || strings.HasPrefix(dir, folder+"/") }
	return slices.ContainsFunc(r.only, in) && !slices.ContainsFunc(r.not, in)
}

const clients = "services meet through Connect clients"

func seams() []seam {
	kubernetes := []string{"actions", "apps/deployer", "executor", "pods", "pools/workerpods", "secret/kubernetes", "demo", "manager", "internal/kube/kubetest", "internal/obs/klogs", "tools", "tests"}
	return []seam{
		{module + "manager", []string{"manager", "demo", "tests/bench"}, nil, "manager composes the services; none of them knows it"},
		{module + "runs/", []string{"runs", "manager", "tests/bench", "demo"}, nil, clients},
		{module + "actions", []string{"actions", "manager", "tests/bench"}, nil, clients},
		{module + "executor/api", []string{"executor", "actions", "pods", "apps/deployer", "pools/workerpods", "manager", "demo", "internal/kube/kubetest", "tests"}, nil, "the TaskAction type is what actions and executor share"},
		{module + "executor", []string{"executor", "manager", "tests/bench"}, nil, clients},
		{module + "attempts", []string{"attempts", "pods", "executor", "pools", "connectors", "apps/deployer", "demo/imagebuild", "demo/node", "inpod/worker", "runs/reclaim", "manager", "tests/bench"}, nil, "attempts fail and are judged alike, wherever they run, and reach the server by the same variables; nothing else knows them"},
		{module + "pods/namespaces", []string{"pods", "executor", "actions", "apps/deployer", "pools/workerpods", "manager"}, nil, "the pods of a project share a namespace, whatever creates them"},
		{module + "pods/podsecret", []string{"pods", "executor", "apps/deployer", "pools/workerpods", "manager", "demo"}, nil, "the values that a container was given are kept out of messages, wherever it runs"},
		{module + "pods/nodestats", []string{"pods", "executor", "manager", "demo"}, nil, "nodes say what their pods use in one form"},
		{module + "pods", []string{"pods", "executor", "apps/deployer", "pools/workerpods", "manager", "tests/bench"}, nil, "only what runs next to a cluster builds and reads pods"},
		{module + "inpod/copilot", []string{"inpod/copilot", "manager"}, nil, "the co-pilot runs in the pods of tasks; services know its arguments only"},
		{module + "inpod/worker", []string{"inpod/worker", "manager"}, nil, "workers run in the pods of reusable environments; services know their messages and variables only"},
		{module + "inpod/forkable", []string{"inpod", "demo"}, nil, "only programs that fork Python tasks share their code"},
		{module + "inpod", []string{"inpod", "manager"}, nil, "what runs in a pod is started by its command line"},
		{module + "secret", []string{"secret", "manager"}, nil, clients},
		{module + "triggers", []string{"triggers", "manager", "tests/bench"}, nil, clients},
		{module + "apps/deployer", []string{"apps/deployer", "manager"}, nil, clients},
		{module + "apps/gateway", []string{"apps/gateway", "manager", "tests/bench"}, nil, clients},
		{module + "apps", []string{"apps", "manager", "tests/bench"}, []string{"apps/deployer", "apps/gateway"}, clients},
		{module + "dataproxy", []string{"dataproxy", "manager", "tests/bench"}, nil, clients},
		{module + "artifacts", []string{"artifacts", "manager", "tests/bench"}, nil, clients},
		{module + "cache_service", []string{"cache_service", "manager", "tests/bench"}, nil, clients},
		{module + "notifications/cloudevents", []string{"notifications/cloudevents", "manager", "tests/bench"}, nil, clients},
		{module + "notifications", []string{"notifications", "manager", "tests/bench"}, []string{"notifications/cloudevents"}, clients},
		{module + "pools/workerpods", []string{"pools/workerpods", "manager"}, nil, "the pods of workers are started next to a cluster"},
		{module + "pools", []string{"pools", "manager", "tests/bench"}, []string{"pools/workerpods"}, clients},
		{module + "connectors", []string{"connectors", "manager", "tests/bench"}, nil, clients},
		{module + "mcp", []string{"mcp", "manager"}, nil, clients},
		{"github.com/modelcontextprotocol", []string{"mcp"}, nil, "one package speaks the Model Context Protocol"},
		{module + "clusters/credentials", []string{"clusters", "manager"}, nil, "controllers present credentials, and the registry knows them"},
		{module + "clusters/states", []string{"clusters", "manager", "runs", "dataproxy", "apps", "pools", "connectors"}, nil, "what is known about a cluster is plain values"},
		{module + "clusters", []string{"clusters", "manager"}, nil, clients},
		{module + "access", []string{"access", "manager", "tests/bench", "demo"}, nil, clients},
		{module + "events", []string{"events", "manager", "tests/bench"}, nil, clients},
		{"k8s.io/kubernetes", []string{"demo"}, nil, "the API server is linked into the demo binary only"},
		{"k8s.io/", kubernetes, nil, "the other services build without Kubernetes"},
		{"sigs.k8s.io/", kubernetes, nil, "the other services build without Kubernetes"},
		{"github.com/jackc/pgx", []string{"access", "runs", "cache_service", "notifications", "triggers", "artifacts", "apps", "pools", "connectors", "clusters", "internal/pg", "demo", "manager", "tests/bench", "tests/faults"}, []string{"apps/deployer", "apps/gateway", "pools/workerpods", "notifications/cloudevents"}, "SQL stays in stores"},
		{"gocloud.dev/pubsub", []string{"notifications/cloudevents"}, nil, "one package speaks to topics and queues"},
		{"gocloud.dev", []string{"internal/blob/blobstore"}, nil, "one package speaks to object stores"},
		{"go.yaml.in/yaml", []string{"manager", "inpod/copilot"}, nil, "configuration is read in one place"},
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
				// A service's tests may run against the real other services.
				require.True(t, s.test || rule.allows(s.dir), "%s imports %s: %s", s.path, path, rule.because)
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

// Runners that need no cluster, such as workers, share attempts: nothing that it imports, itself or through others, brings Kubernetes.
func TestAttemptsBuildWithoutKubernetes(t *testing.T) {
	imports := map[string][]string{}
	var todo []string
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		if s.dir == "attempts" || strings.HasPrefix(s.dir, "attempts/") {
			todo = append(todo, s.dir)
		}
		for _, spec := range s.file.Imports {
			imports[s.dir] = append(imports[s.dir], strings.Trim(spec.Path.Value, `"`))
		}
	}
	require.NotEmpty(t, todo)
	for seen := map[string]bool{}; len(todo) > 0; todo = todo[1:] {
		if seen[todo[0]] {
			continue
		}
		seen[todo[0]] = true
		for _, path := range imports[todo[0]] {
			require.False(t, strings.HasPrefix(path, "k8s.io/") || strings.HasPrefix(path, "sigs.k8s.io/"), "%s imports %s", todo[0], path)
			if dir, own := strings.CutPrefix(path, module); own {
				todo = append(todo, dir)
			}
		}
	}
}

func TestConnectErrorsAreMadeInOnePlace(t *testing.T) {
	for _, s := range sources(t) {
		if s.dir == "tests/faults/connector" { // it plays a server that is not ours
			continue
		}
		if s.test || s.dir == "internal/wire/rpc" || strings.HasPrefix(s.dir, "internal/wire/rpc/") {
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
				"%s makes a Connect error; return an error of internal/wire/rpc instead", s.path)
			return true
		})
	}
}

// What a caller may see is applied to rows by internal/pg/listquery, and to the changes of runs by runs/watch.
func TestListsAreNarrowedInOnePlace(t *testing.T) {
	may := []string{"internal/pg/listquery", "internal/wire/authz", "internal/wire/rpc", "runs/watch"}
	used := 0
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		ast.Inspect(s.file, func(node ast.Node) bool {
			if selector, ok := node.(*ast.SelectorExpr); ok && selector.Sel.Name == "ScopeFrom" {
				used++
				require.Contains(t, may, s.dir, "%s narrows by itself; use listquery.Narrow, Sees or Places", s.path)
			}
			return true
		})
	}
	require.Positive(t, used)
}

// What one replica does for all is done through internal/work/leased: it says in one place what the loss of a lease means.
func TestLeasesAreHeldInOnePlace(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || s.dir == "internal/work/leased" {
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
		service := slices.ContainsFunc([]string{"runs", "actions", "attempts", "pods", "executor", "events", "dataproxy", "cache_service", "inpod/copilot"}, func(dir string) bool {
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
		page, err := os.ReadFile("../../../" + name)
		require.NoError(t, err)
		named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(page), -1)
		require.Greater(t, len(named), 20)
		for _, match := range named {
			require.True(t, names[match[1]], "%s names %s, which does not exist", name, match[1])
		}
	}
}
