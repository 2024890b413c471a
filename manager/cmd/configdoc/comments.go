package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
)

// module is the import path of this repository.
const module = "github.com/flyte-binary/flyte-binary"

// comments reads the doc comments of structs and their fields.
type comments struct {
	root     string
	packages map[string]map[string]described // directory -> type
}

// described holds the comments on the fields of one struct.
type described struct{ fields map[string]string }

func newComments(root string) *comments {
	return &comments{root: root, packages: map[string]map[string]described{}}
}

// of returns the comments of a struct. The directory of a package follows from its import path.
func (c *comments) of(t reflect.Type) (described, error) {
	dir := filepath.Join(c.root, strings.TrimPrefix(t.PkgPath(), module))
	types, known := c.packages[dir]
	if !known {
		var err error
		if types, err = readPackage(dir); err != nil {
			return described{}, err
		}
		c.packages[dir] = types
	}
	found, ok := types[t.Name()]
	if !ok {
		return described{}, fmt.Errorf("%s: no struct %s", dir, t.Name())
	}
	return found, nil
}

// readPackage parses the sources of a package and does not compile them, so it works while generated files are missing.
func readPackage(dir string) (map[string]described, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	types := map[string]described{}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for _, declaration := range file.Decls {
			if general, ok := declaration.(*ast.GenDecl); ok && general.Tok == token.TYPE {
				readTypes(general, types)
			}
		}
	}
	return types, nil
}

func readTypes(declaration *ast.GenDecl, types map[string]described) {
	for _, spec := range declaration.Specs {
		named, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		body, ok := named.Type.(*ast.StructType)
		if !ok {
			continue
		}
		// A field without a comment has that of the field above it, if that one mentions its name.
		d := described{fields: map[string]string{}}
		previous := ""
		for _, field := range body.Fields.List {
			text := oneLine(field.Doc)
			for _, name := range field.Names {
				if text == "" && strings.Contains(previous, name.Name) {
					text = previous // one comment for a pair of fields
				}
				d.fields[name.Name] = text
			}
			previous = text
		}
		types[named.Name.Name] = d
	}
}

func oneLine(group *ast.CommentGroup) string {
	return strings.Join(strings.Fields(group.Text()), " ")
}
