package main

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/stretchr/testify/require"
)

// programs builds a small program for two platforms.
func programs(t *testing.T) []string {
	t.Helper()
	var args []string
	for _, arch := range []string{"amd64", "arm64"} {
		path := filepath.Join(t.TempDir(), "program")
		command := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./testdata/program")
		command.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0")
		out, err := command.CombinedOutput()
		require.NoError(t, err, string(out))
		args = append(args, "-program", "linux/"+arch+"="+path, "-sbom", "linux/"+arch+"=testdata/sbom.cdx.json")
	}
	return append(args, "-version", "1.2.3", "-revision", "abc", "-epoch", "1700000000")
}

// TestPushedAndPulled pushes the image to a registry and looks at what a node gets.
func TestPushedAndPulled(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	address := strings.TrimPrefix(server.URL, "http://") + "/flyte-binary:1.2.3"
	args := programs(t)
	var first, second bytes.Buffer
	dir := filepath.Join(t.TempDir(), "layout")
	require.NoError(t, run(t.Context(), append(args, "-push", address, "-insecure", "-layout", dir), &first))
	require.NoError(t, run(t.Context(), args, &second))
	require.Equal(t, first.String(), second.String(), "the same programs give the same digests")

	reference, err := name.ParseReference(address, name.Insecure)
	require.NoError(t, err)
	index, err := remote.Index(reference, remote.WithContext(t.Context()))
	require.NoError(t, err)
	digest, err := index.Digest()
	require.NoError(t, err)
	require.Contains(t, first.String(), digest.String())
	manifest, err := index.IndexManifest()
	require.NoError(t, err)
	require.Equal(t, types.OCIImageIndex, manifest.MediaType)
	require.Equal(t, "1.2.3", manifest.Annotations["org.opencontainers.image.version"])
	require.Len(t, manifest.Manifests, 2)
	for i, arch := range []string{"amd64", "arm64"} {
		require.Equal(t, "linux/"+arch, manifest.Manifests[i].Platform.String())
		image, err := index.Image(manifest.Manifests[i].Digest)
		require.NoError(t, err)
		requireConfig(t, image, arch)
		requireBOM(t, reference.Context().Digest(manifest.Manifests[i].Digest.String()))
		requireFiles(t, image, arch)
	}
	requireBOM(t, reference.Context().Digest(digest.String()))

	written, err := layout.ImageIndexFromPath(dir)
	require.NoError(t, err)
	listed, err := written.IndexManifest()
	require.NoError(t, err)
	require.Equal(t, digest, listed.Manifests[0].Digest, "the layout has the same image")
	require.Len(t, listed.Manifests, 4, "and what refers to it and to its platforms")
}

func requireConfig(t *testing.T, image v1.Image, arch string) {
	t.Helper()
	config, err := image.ConfigFile()
	require.NoError(t, err)
	require.Equal(t, "linux/"+arch, config.OS+"/"+config.Architecture)
	require.Equal(t, "65532:65532", config.Config.User)
	require.Equal(t, []string{"flyte-binary"}, config.Config.Entrypoint)
	require.Equal(t, []string{"PATH=/usr/local/bin"}, config.Config.Env, "co-pilots and forwarders call flyte-binary by its name")
	require.Equal(t, "abc", config.Config.Labels["org.opencontainers.image.revision"])
	require.EqualValues(t, 1_700_000_000, config.Created.Unix())
}

// requireBOM finds the list of components of an image by the registry's list of what refers to it.
func requireBOM(t *testing.T, of name.Digest) {
	t.Helper()
	found, err := remote.Referrers(of, remote.WithContext(t.Context()))
	require.NoError(t, err)
	list, err := found.IndexManifest()
	require.NoError(t, err)
	require.Len(t, list.Manifests, 1)
	require.EqualValues(t, cycloneDX, list.Manifests[0].ArtifactType)
	image, err := remote.Image(of.Context().Digest(list.Manifests[0].Digest.String()), remote.WithContext(t.Context()))
	require.NoError(t, err)
	layers, err := image.Layers()
	require.NoError(t, err)
	content, err := layers[0].Compressed()
	require.NoError(t, err)
	attached, err := io.ReadAll(content)
	require.NoError(t, err)
	given, err := os.ReadFile("testdata/sbom.cdx.json")
	require.NoError(t, err)
	require.Equal(t, string(given), string(attached))
}

// requireFiles unpacks an image. That of this machine's architecture is run.
func requireFiles(t *testing.T, image v1.Image, arch string) {
	t.Helper()
	dir := t.TempDir()
	modes := map[string]int64{}
	content := mutate.Extract(image)
	defer content.Close()
	for reader := tar.NewReader(content); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		require.Zero(t, header.Uid, header.Name)
		require.EqualValues(t, 1_700_000_000, header.ModTime.Unix(), header.Name)
		modes[strings.TrimSuffix(header.Name, "/")] = header.Mode
		path := filepath.Join(dir, filepath.Clean("/"+header.Name))
		if header.Typeflag == tar.TypeDir {
			require.NoError(t, os.MkdirAll(path, 0o755))
			continue
		}
		body, err := io.ReadAll(reader)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, body, os.FileMode(header.Mode)))
	}
	require.EqualValues(t, 0o1777, modes["tmp"])
	require.EqualValues(t, 0o755, modes["usr/local/bin"])
	roots, err := os.ReadFile(filepath.Join(dir, "etc/ssl/certs/ca-certificates.crt"))
	require.NoError(t, err)
	require.True(t, x509.NewCertPool().AppendCertsFromPEM(roots))
	require.Greater(t, strings.Count(string(roots), "BEGIN CERTIFICATE"), 100)
	if arch == runtime.GOARCH && runtime.GOOS == "linux" {
		var failed *exec.ExitError
		require.ErrorAs(t, exec.CommandContext(t.Context(), filepath.Join(dir, "usr/local/bin/flyte-binary")).Run(), &failed)
		require.Equal(t, 7, failed.ExitCode())
	}
}

func TestWrongOrders(t *testing.T) {
	for says, args := range map[string][]string{
		"-program and -version are required": {"-version", "1"},
		"want PLATFORM=FILE":                 {"-program", "bin/flyte-binary", "-version", "1"},
		"-sbom linux/amd64=FILE is required": {"-program", "linux/amd64=/nowhere", "-version", "1"},
		"/nowhere: no such file":             {"-program", "linux/amd64=/nowhere", "-sbom", "linux/amd64=testdata/sbom.cdx.json", "-version", "1"},
		"-sbom of linux/amd64: open /none":   {"-program", "linux/amd64=testdata/sbom.cdx.json", "-sbom", "linux/amd64=/none", "-version", "1"},
	} {
		require.ErrorContains(t, run(t.Context(), args, io.Discard), says)
	}
}
