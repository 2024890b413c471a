package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// The name of the distribution, and as it is written in names of files.
const (
	distribution = "flyte-binary"
	escaped      = "flyte_binary"
)

// file is a file with its content.
type file struct {
	name    string
	content []byte
}

// buildWheel is a wheel with the program as a script, so that installers put the program itself on the PATH and no Python starts
// first.
func buildWheel(o options, program []byte, documents map[string][]byte, sbom []byte) (file, error) {
	tag, err := wheelTag(o.goos, o.goarch)
	if err != nil {
		return file{}, err
	}
	version := pythonVersion(o.version)
	stem := escaped + "-" + version
	info := stem + ".dist-info/"
	licenses := slices.DeleteFunc(slices.Sorted(maps.Keys(documents)), func(name string) bool { return name == "README.md" })

	files := []file{
		{stem + ".data/scripts/" + distribution, program},
		{info + "METADATA", coreMetadata(version, licenses, documents["README.md"])},
		{info + "WHEEL", fmt.Appendf(nil, "Wheel-Version: 1.0\nGenerator: flyte-binary release\nRoot-Is-Purelib: false\nTag: %s\n", tag)},
		{info + "sboms/" + distribution + ".cdx.json", sbom},
	}
	for _, name := range licenses {
		files = append(files, file{info + "licenses/" + name, documents[name]})
	}
	var record strings.Builder
	for _, one := range files {
		sum := sha256.Sum256(one.content)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", one.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(one.content))
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	files = append(files, file{info + "RECORD", []byte(record.String())})
	content, err := zipped(o, files)
	return file{stem + "-" + tag + ".whl", content}, err
}

func zipped(o options, files []file) ([]byte, error) {
	var packed bytes.Buffer
	archive := zip.NewWriter(&packed)
	for _, one := range files {
		header := &zip.FileHeader{Name: one.name, Method: zip.Deflate, Modified: o.zipTime()}
		if o.store {
			header.Method = zip.Store
		}
		mode := fs.FileMode(0o644)
		if strings.Contains(one.name, ".data/scripts/") {
			mode = 0o755
		}
		header.SetMode(mode)
		entry, err := archive.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := entry.Write(one.content); err != nil {
			return nil, err
		}
	}
	err := archive.Close()
	return packed.Bytes(), err
}

// wheelTag says where the wheel can be installed. The program is static; the Postgres that it brings asks for glibc 2.28. Go asks
// for macOS 12.
func wheelTag(goos, goarch string) (string, error) {
	switch goos + "/" + goarch {
	case "linux/amd64":
		return "py3-none-manylinux_2_28_x86_64", nil
	case "linux/arm64":
		return "py3-none-manylinux_2_28_aarch64", nil
	case "darwin/amd64":
		return "py3-none-macosx_12_0_x86_64", nil
	case "darwin/arm64":
		return "py3-none-macosx_12_0_arm64", nil
	}
	return "", errors.New("no wheel for " + goos + "/" + goarch)
}

// coreMetadata is the file METADATA.
func coreMetadata(version string, licenses []string, readme []byte) []byte {
	var text strings.Builder
	line := func(name, value string) { fmt.Fprintf(&text, "%s: %s\n", name, value) }
	line("Metadata-Version", "2.4")
	line("Name", distribution)
	line("Version", version)
	line("Summary", "A complete Flyte 2 backend in one program, for laptops and clusters")
	line("License-Expression", "Apache-2.0")
	for _, name := range licenses {
		line("License-File", name)
	}
	line("Keywords", "flyte,workflows,orchestration,kubernetes")
	for _, classifier := range []string{
		"Environment :: Console", "Intended Audience :: Developers", "Intended Audience :: Science/Research",
		"Operating System :: MacOS", "Operating System :: POSIX :: Linux", "Programming Language :: Go",
		"Topic :: Scientific/Engineering", "Topic :: System :: Distributed Computing",
	} {
		line("Classifier", classifier)
	}
	line("Requires-Python", ">=3.10")
	line("Description-Content-Type", "text/markdown; charset=UTF-8")
	text.WriteString("\n")
	text.Write(readme)
	return []byte(text.String())
}
