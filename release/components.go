package main

import (
	"bytes"
	"cmp"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

// ours is the prefix of the modules of this repository.
const ours = "github.com/flyte-binary/flyte-binary"

// component is one third-party part of a program.
type component struct {
	name, version string
	// purl is its package URL.
	purl string
	// cpe is its name in lists of vulnerabilities; empty where the package URL says it all.
	cpe string
	// license is an SPDX expression.
	license string
	// texts are its license and notice files, by their path within it.
	texts map[string][]byte
}

// components are the third-party parts of a program, sorted by package URL: the Go modules that are linked into it, Go's own
// library, the packages in the console, and Postgres.
func components(ctx context.Context, o options) ([]component, error) {
	linked, err := buildinfo.ReadFile(o.program)
	if err != nil {
		return nil, fmt.Errorf("modules of %s: %w", o.program, err)
	}
	parts, err := goModules(ctx, o, linked)
	if err != nil {
		return nil, err
	}
	library, err := goLibrary(ctx, linked.GoVersion)
	if err != nil {
		return nil, err
	}
	packages, err := consolePackages(filepath.Join(o.root, "console"))
	if err != nil {
		return nil, err
	}
	parts = append(append(parts, library), packages...)
	if !o.slim {
		brought, err := postgres(o.root)
		if err != nil {
			return nil, err
		}
		parts = append(parts, brought)
	}
	slices.SortFunc(parts, func(a, b component) int { return cmp.Compare(a.purl, b.purl) })
	var failures []error
	for _, part := range parts {
		failures = append(failures, part.check())
	}
	return parts, errors.Join(failures...)
}

// goPackage is what go list says of a package.
type goPackage struct {
	ImportPath, Dir string
	Module          *struct{ Path, Version, Dir string }
}

// goModules are the modules that the program says it has. Their license files are those of the directories that the linked
// packages come from, and of the directories above, since some modules have parts with a license of their own.
func goModules(ctx context.Context, o options, linked *debug.BuildInfo) ([]component, error) {
	dirs := map[string]map[string]bool{} // of a module's path
	roots := map[string]string{}
	packages, err := listPackages(ctx, o)
	if err != nil {
		return nil, err
	}
	for _, one := range packages {
		if one.Module == nil || strings.HasPrefix(one.Module.Path, ours) {
			continue
		}
		found := dirs[one.Module.Path]
		if found == nil {
			found = map[string]bool{}
			dirs[one.Module.Path], roots[one.Module.Path] = found, one.Module.Dir
		}
		for dir := one.Dir; ; dir = filepath.Dir(dir) {
			found[dir] = true
			if dir == one.Module.Dir {
				break
			}
		}
	}
	var parts []component
	for _, module := range linked.Deps {
		if strings.HasPrefix(module.Path, ours) {
			continue
		}
		part := component{name: module.Path, version: module.Version, purl: "pkg:golang/" + module.Path + "@" + module.Version}
		if part.texts, err = licenseFiles(roots[module.Path], dirs[module.Path]); err != nil {
			return nil, err
		}
		part.license = identify(part.texts)
		parts = append(parts, part)
	}
	return parts, nil
}

// listPackages lists the packages of the program, as it was built.
func listPackages(ctx context.Context, o options) ([]goPackage, error) {
	command := exec.CommandContext(ctx, "go", append([]string{"list", "-deps", "-json=ImportPath,Dir,Module"}, o.main...)...)
	command.Dir, command.Stderr = filepath.Join(o.root, o.module), os.Stderr
	command.Env = append(os.Environ(), "GOOS="+o.goos, "GOARCH="+o.goarch, "CGO_ENABLED=0")
	said, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	var packages []goPackage
	for decoder := json.NewDecoder(bytes.NewReader(said)); ; {
		var one goPackage
		if err := decoder.Decode(&one); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("list packages: %w", err)
		}
		packages = append(packages, one)
	}
}

// goLibrary is Go's own library, of the version that built the program.
func goLibrary(ctx context.Context, version string) (component, error) {
	said, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return component{}, fmt.Errorf("find Go's library: %w", err)
	}
	root := strings.TrimSpace(string(said))
	texts, err := licenseFiles(root, map[string]bool{root: true})
	version = strings.TrimPrefix(version, "go")
	return component{
		name: "std", version: version, purl: "pkg:golang/std@" + version, license: "BSD-3-Clause", texts: texts,
	}, err
}
