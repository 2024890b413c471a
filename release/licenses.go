package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// licenseFile matches names of files that must go along with a program.
var licenseFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|copyright|notice|patents|unlicense)([.-].*)?$`)

// licenseFiles reads the license files of the directories, by their path below root.
func licenseFiles(root string, dirs map[string]bool) (map[string][]byte, error) {
	texts := map[string][]byte{}
	for dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			// LICENSE.go is a program.
			if !entry.Type().IsRegular() || !licenseFile.MatchString(entry.Name()) || strings.HasSuffix(entry.Name(), ".go") {
				continue
			}
			path := filepath.Join(dir, entry.Name())
			content, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return nil, err
			}
			texts[filepath.ToSlash(name)] = content
		}
	}
	return texts, nil
}

// identify returns the SPDX expression of the licenses in the texts; empty if there is none that is known.
func identify(texts map[string][]byte) string {
	found := map[string]bool{}
	for name, text := range texts {
		// A grant of patents is not a license of its own; what holds for documentation is not in a program.
		if base := path.Base(name); base == "PATENTS" || base == "LICENSE.docs" {
			continue
		}
		for _, match := range licensecheck.Scan(text).Match {
			if !match.IsURL {
				found[match.ID] = true
			}
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), " AND ")
}

// allowed are the licenses that parts may have: they ask for their text, and for the source of changes to their own files at
// most.
func allowed() []string {
	return []string{
		"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "EPL-2.0", "ISC", "MIT", "MIT-0", "MPL-2.0", "PostgreSQL",
		"Unlicense", "Zlib",
	}
}

// check returns an error for a part that must not be in a release: with no license text, or with a license that no one has
// allowed yet.
func (c component) check() error {
	if len(c.texts) == 0 {
		return fmt.Errorf("%s has no license file", c.purl)
	}
	if c.license == "" {
		return fmt.Errorf("%s: the license is unknown", c.purl)
	}
	// Of a choice, one must be allowed; what comes with AND must all be.
	var failures []error
	for all := range strings.SplitSeq(strings.Trim(c.license, "()"), " AND ") {
		if !slices.ContainsFunc(strings.Split(all, " OR "), func(one string) bool { return slices.Contains(allowed(), one) }) {
			failures = append(failures, fmt.Errorf("%s: the license %q is not allowed (release/licenses.go)", c.purl, all))
		}
	}
	return errors.Join(failures...)
}

// licenseTexts is the document with the licenses of all parts. Parts with the same text share it.
func licenseTexts(parts []component) []byte {
	sharing := map[string][]string{} // text to the files that have it
	var order []string
	for _, part := range parts {
		for _, file := range slices.Sorted(maps.Keys(part.texts)) {
			text := strings.TrimSpace(string(bytes.ReplaceAll(part.texts[file], []byte("\r\n"), []byte("\n"))))
			if sharing[text] == nil {
				order = append(order, text)
			}
			sharing[text] = append(sharing[text], fmt.Sprintf("%s %s (%s)", part.name, part.version, file))
		}
	}
	var document bytes.Buffer
	document.WriteString("This program contains parts of others. Their licenses:\n")
	for _, text := range order {
		document.WriteString("\n" + strings.Repeat("=", 80) + "\n" + strings.Join(sharing[text], "\n") + "\n\n" + text + "\n")
	}
	return document.Bytes()
}
