package charts_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// unpacked is the file system of the image, read-only for the program, which has no files but these: where the test may, it
// runs under chroot as the user of the image.
type unpacked struct {
	root       string
	user       uint32
	entrypoint []string
	env        []string
}

// unpackImage packs the program that `make build-slim` has built into an image and unpacks that.
func unpackImage(t *testing.T) *unpacked {
	t.Helper()
	if os.Getuid() != 0 || runtime.GOOS != "linux" {
		t.Skip("only root on Linux can run a program in the image's own file system")
	}
	program, err := filepath.Abs("../bin/flyte-binary-slim")
	require.NoError(t, err)
	if _, err := os.Stat(program); err != nil {
		t.Skip("the program is not built: run `make build-slim`")
	}
	layout := filepath.Join(t.TempDir(), "layout")
	command := exec.CommandContext(t.Context(), "go", "run", ".", "-version", "0.0.1", "-layout", layout,
		"-program", "linux/"+runtime.GOARCH+"="+program, "-sbom", "linux/"+runtime.GOARCH+"=testdata/sbom.cdx.json")
	command.Dir = "../release/image"
	command.Env = append(os.Environ(), "GOFLAGS=-trimpath -buildvcs=false")
	out, err := command.CombinedOutput()
	require.NoError(t, err, string(out))
	t.Logf("%s", out)

	type descriptor struct {
		Digest string `json:"digest"`
	}
	var index, images struct {
		Manifests []descriptor `json:"manifests"`
	}
	var manifest struct {
		Config descriptor   `json:"config"`
		Layers []descriptor `json:"layers"`
	}
	var config struct {
		Config struct {
			User            string
			Entrypoint, Env []string
		} `json:"config"`
	}
	blob := func(d descriptor) string {
		return filepath.Join(layout, "blobs", strings.ReplaceAll(d.Digest, ":", "/"))
	}
	read := func(path string, into any) {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, into))
	}
	read(filepath.Join(layout, "index.json"), &index)
	read(blob(index.Manifests[0]), &images)
	read(blob(images.Manifests[0]), &manifest)
	read(blob(manifest.Config), &config)
	require.Equal(t, "65532:65532", config.Config.User)

	u := &unpacked{root: t.TempDir(), user: 65532, entrypoint: config.Config.Entrypoint, env: config.Config.Env}
	require.NoError(t, os.Chmod(u.root, 0o755))
	for _, layer := range manifest.Layers {
		u.extract(t, blob(layer))
	}
	return u
}

func (u *unpacked) extract(t *testing.T, path string) {
	t.Helper()
	packed, err := os.Open(path)
	require.NoError(t, err)
	defer packed.Close()
	plain, err := gzip.NewReader(packed)
	require.NoError(t, err)
	for reader := tar.NewReader(plain); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		to := filepath.Join(u.root, filepath.Clean("/"+header.Name))
		mode := header.FileInfo().Mode()
		if header.Typeflag == tar.TypeDir {
			require.NoError(t, os.MkdirAll(to, 0o755))
		} else {
			body, err := io.ReadAll(reader)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(to, body, mode.Perm()))
		}
		require.NoError(t, os.Chmod(to, mode)) // without the umask
	}
}

// put writes a file that a volume would bring.
func (u *unpacked) put(t *testing.T, path, text string) {
	t.Helper()
	to := filepath.Join(u.root, path)
	require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
	require.NoError(t, os.WriteFile(to, []byte(text), 0o644))
}

// command runs the image with arguments, in nothing but its own file system and environment.
func (u *unpacked) command(t *testing.T, args []string, env ...string) *exec.Cmd {
	t.Helper()
	require.Equal(t, []string{"flyte-binary"}, u.entrypoint)
	require.Contains(t, u.env, "PATH=/usr/local/bin")
	command := exec.CommandContext(t.Context(), "/usr/local/bin/flyte-binary", args...)
	command.Env, command.Dir = append(u.env, env...), "/"
	command.SysProcAttr = &syscall.SysProcAttr{
		Chroot: u.root, Credential: &syscall.Credential{Uid: u.user, Gid: u.user}, Pdeathsig: syscall.SIGKILL,
	}
	return command
}

// TestTheImageHasWhatTheProgramNeeds: it says its version, and has zone data for triggers.
func TestTheImageHasWhatTheProgramNeeds(t *testing.T) {
	u := unpackImage(t)
	out, err := u.command(t, []string{"version"}).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "flyte-binary ")
	program, err := os.ReadFile(filepath.Join(u.root, "usr/local/bin/flyte-binary"))
	require.NoError(t, err)
	require.True(t, bytes.Contains(program, []byte("America/Argentina/Ushuaia")))

	t.Run("it serves as the chart starts it", func(t *testing.T) { serves(t, u) })
	t.Run("it moves the data of raw containers", func(t *testing.T) { movesData(t, u) })
}
