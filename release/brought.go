package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// consolePackages are the packages that the web console is built from, by its lock file.
func consolePackages(dir string) ([]component, error) {
	content, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return nil, err
	}
	var lock struct {
		Packages map[string]struct {
			Version, License string
			Dev, Optional    bool
		}
	}
	if err := json.Unmarshal(content, &lock); err != nil {
		return nil, fmt.Errorf("packages of the console: %w", err)
	}
	var parts []component
	for path, one := range lock.Packages {
		_, name, ok := strings.Cut(path, "node_modules/")
		// Types are not in the built console.
		if !ok || one.Dev || one.Optional || strings.HasPrefix(name, "@types/") {
			continue
		}
		part := component{
			name: name, version: one.Version, license: one.License,
			purl: "pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@" + one.Version,
		}
		folder := filepath.Join(dir, filepath.FromSlash(path))
		if part.texts, err = licenseFiles(folder, map[string]bool{folder: true}); err != nil {
			return nil, err
		}
		if len(part.texts) == 0 {
			if part.texts, err = declared(folder); err != nil {
				return nil, err
			}
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// declared is for packages that are published without their license file: what they declare in its place.
func declared(dir string) (map[string][]byte, error) {
	content, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		return nil, err
	}
	var manifest struct {
		License    string
		Author     any // a text or an object
		Repository any
	}
	if err := json.Unmarshal(content, &manifest); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	said, err := json.MarshalIndent(map[string]any{
		"license": manifest.License, "author": manifest.Author, "repository": manifest.Repository,
	}, "", "  ")
	return map[string][]byte{"package.json": append([]byte("The package is published without a license file. It declares:\n\n"), said...)}, err
}

// postgresVersion is that of the Postgres that the demo brings, as in tools/postgres.sh.
const postgresVersion = "18.4"

func postgres(root string) (component, error) {
	text, err := os.ReadFile(filepath.Join(root, "release", "postgres", "COPYRIGHT"))
	return component{
		name: "postgresql", version: postgresVersion, license: "PostgreSQL", texts: map[string][]byte{"COPYRIGHT": text},
		purl: "pkg:generic/postgresql@" + postgresVersion, cpe: "cpe:2.3:a:postgresql:postgresql:" + postgresVersion + ":*:*:*:*:*:*:*",
	}, err
}
