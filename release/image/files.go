package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"io"
	"path"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// file is one file of an image; one without a body is a directory.
type file struct {
	name string
	mode int64
	body []byte
}

// systemFiles are those that programs expect of a system. The program has zone data of its own.
func systemFiles() []file {
	return []file{
		{"etc/passwd", 0o644, []byte("root:x:0:0:root:/:/sbin/nologin\nflyte:x:65532:65532:flyte:/tmp:/sbin/nologin\n")},
		{"etc/group", 0o644, []byte("root:x:0:\nflyte:x:65532:\n")},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, certificates()},
		// the only directory in which the account may write
		{"tmp/", 0o1777, nil},
	}
}

// certificates are the authorities that Mozilla trusts, as this module's go.mod pins them. Those that it trusts under further
// conditions are left out: a file of certificates cannot express them.
func certificates() []byte {
	var all bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			all.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return all.Bytes()
}

// newLayer packs files and the directories above them, all of root and of one time.
func newLayer(files []file, made time.Time) (v1.Layer, error) {
	var packed bytes.Buffer
	writer := tar.NewWriter(&packed)
	written := map[string]bool{}
	header := func(name string, kind byte, mode, size int64) error {
		return writer.WriteHeader(&tar.Header{Name: name, Typeflag: kind, Mode: mode, Size: size, ModTime: made, Format: tar.FormatPAX})
	}
	for _, one := range files {
		for _, parent := range parents(one.name) {
			if !written[parent] {
				written[parent] = true
				if err := header(parent, tar.TypeDir, 0o755, 0); err != nil {
					return nil, err
				}
			}
		}
		kind := byte(tar.TypeReg)
		if one.body == nil {
			kind = tar.TypeDir
		}
		if err := header(one.name, kind, one.mode, int64(len(one.body))); err != nil {
			return nil, err
		}
		if _, err := writer.Write(one.body); err != nil {
			return nil, err
		}
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	// The level is fixed, and the header of gzip has no time: both are part of the digest.
	return tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.DefaultCompression), tarball.WithCompressedCaching,
	)
}

// parents are the directories above a name, from the top.
func parents(name string) []string {
	var all []string
	for dir := path.Dir(path.Clean(name)); dir != "."; dir = path.Dir(dir) {
		all = append(all, dir+"/")
	}
	slices.Reverse(all)
	return all
}
