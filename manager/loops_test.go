package manager_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/connectors"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/notifications/cloudevents"
)

// loop is a row of the table in docs/high-availability.md.
type loop struct{ module, pkg, lease, harmless string }

func tableOfLoops(t *testing.T) []loop {
	t.Helper()
	body, err := os.ReadFile("../docs/high-availability.md")
	require.NoError(t, err)
	var table []loop
	for line := range strings.Lines(string(body)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 7 || cells[1] == " module " || strings.HasPrefix(cells[1], "---") {
			continue
		}
		for i := range cells {
			cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "`")
		}
		table = append(table, loop{cells[1], cells[3], cells[4], cells[5]})
	}
	return table
}

// TestTheTableOfLoopsIsComplete: each module and each package with loops has a row that says who runs it.
func TestTheTableOfLoopsIsComplete(t *testing.T) {
	described, packages := map[string]bool{}, map[string]bool{}
	for _, row := range tableOfLoops(t) {
		described[row.module] = true
		if row.pkg == "" {
			continue
		}
		packages[row.pkg] = true
		require.NotEmpty(t, row.lease, "%v: who runs it", row)
		require.NotEmpty(t, row.harmless, "%v: why two are harmless", row)
	}
	require.ElementsMatch(t, manager.Modules(), slices.Collect(maps.Keys(described)), "the modules of a process")

	starts := regexp.MustCompile(`lifecycle\.Background|leased\.(Loop|While)|pgdb\.NewListener|groupcommit\.New|Leader\.While`)
	for _, service := range []string{
		"access", "actions", "apps", "artifacts", "cache_service", "clusters", "connectors", "console", "dataproxy", "events", "executor",
		"manager", "notifications", "pods", "pools", "runs", "secret", "triggers",
	} {
		for pkg, text := range codeOf(t, service) {
			if starts.MatchString(text) && pkg != "runs" && pkg != "manager" { // which compose those of others
				require.True(t, packages[pkg], "%s has loops and no row", pkg)
			}
		}
	}
}

// codeOf is the text of each package below a directory of the repository, without tests and comments.
func codeOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir(filepath.Join("..", dir), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(strings.TrimPrefix(filepath.Dir(path), "../"))
		ast.Inspect(file, func(n ast.Node) bool {
			if selected, ok := n.(*ast.SelectorExpr); ok {
				if of, ok := selected.X.(*ast.Ident); ok {
					found[pkg] += of.Name + "." + selected.Sel.Name + "\n"
				} else if of, ok := selected.X.(*ast.SelectorExpr); ok {
					found[pkg] += of.Sel.Name + "." + selected.Sel.Name + "\n"
				}
			}
			return true
		})
		return nil
	}))
	return found
}

// TestLeasesAreThoseOfTheTable: a server with everything on takes exactly the leases that the table names.
func TestLeasesAreThoseOfTheTable(t *testing.T) {
	config := testConfig(t)
	config.EventStream.Sinks = []cloudevents.Sink{{Name: "sink", Type: "http", URL: "http://127.0.0.1:1/", Events: []string{"runs", "audit"}}}
	want, tables := []string{}, map[string]bool{}
	for _, row := range tableOfLoops(t) {
		table, name, found := strings.Cut(row.lease, "/")
		if !found || name == "retention" { // which is held only while there is something to delete
			continue
		}
		tables[table] = true
		if !slices.Contains(want, row.lease) {
			want = append(want, row.lease)
		}
	}
	config.Runs.Stored.Measure = true
	config.Connectors.Endpoints = []connectors.Endpoint{{Name: "bigquery", URL: "http://127.0.0.1:1"}}
	startServer(t, config, nowhere(t))
	conn, err := pgx.Connect(t.Context(), config.Database.URL)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) }()
	held := func() (found []string) {
		for table := range tables {
			rows, err := conn.Query(t.Context(), `SELECT name FROM `+table)
			require.NoError(t, err)
			names, err := pgx.CollectRows(rows, pgx.RowTo[string])
			require.NoError(t, err)
			for _, name := range names {
				found = append(found, table+"/"+name)
			}
		}
		slices.Sort(found)
		return found
	}
	slices.Sort(want)
	require.Eventually(t, func() bool { return slices.Equal(want, held()) }, 30*time.Second, 20*time.Millisecond, "want %q", want)

	// Every table of leases in the database is one of the document's.
	rows, err := conn.Query(t.Context(), `SELECT relname FROM pg_class WHERE relkind = 'r' AND relname LIKE '%leases' AND relnamespace = 'public'::regnamespace`)
	require.NoError(t, err)
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.ElementsMatch(t, all, slices.Collect(maps.Keys(tables)))
}
