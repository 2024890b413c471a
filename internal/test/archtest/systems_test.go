package archtest_test

import (
	"go/ast"
	"go/build"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// declared is a name at the top level of the files of a directory.
type declared struct{ dir, name string }

// declares returns what a file declares, without methods: of those a reading of the source can't tell whose is called.
func declares(s source) (names []declared) {
	for _, declaration := range s.file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				names = append(names, declared{s.dir, d.Name.Name})
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch one := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, declared{s.dir, one.Name.Name})
				case *ast.ValueSpec:
					for _, name := range one.Names {
						names = append(names, declared{s.dir, name.Name})
					}
				}
			}
		}
	}
	return names
}

// The tests run on Linux, and nothing else compiles the files for other systems before a release. So what a file for Linux alone
// declares, and what files for all systems use, must have a counterpart in the same package.
func TestFilesForOtherSystemsKeepUp(t *testing.T) {
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	builds := func(s source, system string) bool {
		context := build.Default
		context.GOOS = system
		match, err := context.MatchFile(filepath.Join(root, s.dir), filepath.Base(s.path))
		require.NoError(t, err)
		return match
	}
	linux, others := map[declared]string{}, map[declared]bool{} // declared for one of them alone, with the file
	used, selected := map[declared]bool{}, map[string]bool{}    // in files for both: in the same directory, behind a dot
	packages := map[string]string{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		if known := packages[s.dir]; known != "" {
			require.Equal(t, known, s.file.Name.Name, "%s: all files of a directory are of one package", s.path)
		}
		packages[s.dir] = s.file.Name.Name
		switch onLinux, onOthers := builds(s, "linux"), builds(s, "darwin"); {
		case onLinux && onOthers:
			ast.Inspect(s.file, func(node ast.Node) bool {
				switch n := node.(type) {
				case *ast.SelectorExpr:
					selected[n.Sel.Name] = true
				case *ast.Ident:
					used[declared{s.dir, n.Name}] = true
				}
				return true
			})
		case onLinux:
			for _, name := range declares(s) {
				linux[name] = s.path
			}
		case onOthers:
			for _, name := range declares(s) {
				others[name] = true
			}
		}
	}
	require.NotEmpty(t, linux)
	require.NotEmpty(t, others)
	for one, path := range linux {
		if wanted := used[one] || ast.IsExported(one.name) && selected[one.name]; wanted && !others[one] {
			t.Errorf("%s declares %s, which files for all systems use, and no file for other systems does", path, one.name)
		}
	}
}
