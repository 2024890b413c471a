package imagebuild_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/demo/environments"
	"github.com/flyte-binary/flyte-binary/demo/imagebuild"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	pb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/imagebuilder"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// TestMain makes this test binary the program that runs commands behind a fence, as the product is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == imagebuild.Name {
		command := imagebuild.Command()
		command.SetArgs(os.Args[2:])
		if err := command.Execute(); err != nil {
			os.Exit(3)
		}
	}
	os.Exit(m.Run())
}

// installer is an installer that prints what it gets. The real one is used by the end-to-end tests.
const installer = `#!/bin/sh -e
case $1 in
venv)
	for target; do :; done
	mkdir -p "$target/bin" "$target/lib/python3.11/site-packages/x.dist-info"
	for name in python a0; do printf '#!/bin/sh\n' > "$target/bin/$name"; chmod +x "$target/bin/$name"; done
	;;
*)
	echo "arguments: $*"
	echo "index: $UV_DEFAULT_INDEX; $UV_INDEX"
	echo "links: ${UV_LINK_MODE:-the default}"
	[ "$3" != --requirement ] || [ "$4" != - ] || sed 's/^/wanted: /'
	printf '{"url": "%s"}' "$UV_DEFAULT_INDEX" > "$VIRTUAL_ENV/lib/python3.11/site-packages/x.dist-info/direct_url.json"
	case $* in *--no-build*) echo "cannot install that" >&2; exit 1;; esac
	case $1$2 in pipcheck) [ ! -e "$VIRTUAL_ENV/mixed" ] || { printf 'The package \140a\140 requires \140b>2\140, but \1401\140 is installed\n' >&2; exit 1; };; esac
	;;
esac
`

type fixture struct {
	*imagebuild.Build
	log   *bytes.Buffer
	dir   string
	store *environments.Store
}

// theImage is the image that is built.
var theImage = environments.Image{Project: "p", Domain: "d", Name: "image:" + strings.Repeat("a", 32)}

// theRun is the run of a build.
type theRun struct {
	overwrites bool
	began      time.Time
}

func (r theRun) GetRunDetails(_ context.Context, request *workflow.GetRunDetailsRequest) (*workflow.GetRunDetailsResponse, error) {
	if id := request.GetRunId(); id.GetProject() != "p" || id.GetDomain() != "d" || id.GetName() != "r" {
		return nil, connect.NewError(connect.CodeNotFound, errors.New("no such run"))
	}
	return &workflow.GetRunDetailsResponse{Details: &workflow.RunDetails{
		RunSpec: &task.RunSpec{OverwriteCache: r.overwrites},
		Action:  &workflow.ActionDetails{Status: &workflow.ActionStatus{StartTime: timestamppb.New(r.began)}},
	}}, nil
}

func newFixture(t *testing.T, layers ...*pb.Layer) *fixture {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"bin", "blobs", "secrets/g"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bin", "uv"), []byte(installer), 0o755))
	interpreter := "#!/bin/sh\necho 3.11 /machine/python3.11\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bin", "python3.11"), []byte(interpreter), 0o755))
	// The script of a version manager that has no such version.
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "shims"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "shims", "python3.11"), []byte("#!/bin/sh\nexit 127\n"), 0o755))
	log, store := &bytes.Buffer{}, environments.New(filepath.Join(dir, "environments"), clock.System{})
	f := &fixture{&imagebuild.Build{
		Spec: filepath.Join(dir, "blobs", "spec.pb"), Target: "some.registry/image:" + strings.Repeat("a", 32), SDK: "flyte==1",
		Secrets: filepath.Join(dir, "secrets"), Blobs: filepath.Join(dir, "blobs"), Project: "p", Domain: "d", Run: "r", Runs: theRun{},
		Environ: []string{"PATH=" + filepath.Join(dir, "shims") + ":" + filepath.Join(dir, "bin") + ":/usr/bin:/bin"}, Store: store, Out: log,
	}, log, dir, store}
	f.spec(t, "3.11", layers)
	return f
}

func (f *fixture) spec(t *testing.T, python string, layers []*pb.Layer) {
	t.Helper()
	body, err := proto.Marshal(&pb.ImageSpec{PythonVersion: python, Layers: layers})
	require.NoError(t, err)
	f.blob(t, "spec.pb", body)
}

func (f *fixture) blob(t *testing.T, name string, body []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(f.dir, "blobs", name), body, 0o600))
}

// archive sets the client's files.
func (f *fixture) archive(t *testing.T, entries ...*tar.Header) {
	t.Helper()
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	writer := tar.NewWriter(zipped)
	for _, entry := range entries {
		content := []byte(entry.Name)
		if entry.Typeflag == tar.TypeReg {
			entry.Size, entry.Mode = int64(len(content)), 0o644
		}
		require.NoError(t, writer.WriteHeader(entry))
		if entry.Typeflag == tar.TypeReg {
			_, err := writer.Write(content)
			require.NoError(t, err)
		}
	}
	require.NoError(t, writer.Close())
	require.NoError(t, zipped.Close())
	f.blob(t, "context.tar.gz", packed.Bytes())
	f.Context = filepath.Join(f.dir, "blobs", "context.tar.gz")
}

func packages(options *pb.PipOptions, mounts []*core.Secret, names ...string) *pb.Layer {
	return &pb.Layer{Layer: &pb.Layer_PipPackages{PipPackages: &pb.PipPackages{Packages: names, Options: options, SecretMounts: mounts}}}
}

func copying(src, dst string) *pb.Layer {
	return &pb.Layer{Layer: &pb.Layer_CopyConfig{CopyConfig: &pb.CopyConfig{Src: src, Dst: dst}}}
}

func running(line string) *pb.Layer {
	return &pb.Layer{Layer: &pb.Layer_Commands{Commands: &pb.Commands{Cmd: []string{line}}}}
}

// A client that forces a build gets a new environment, once.
func TestAForcedBuild(t *testing.T) {
	t.Parallel()
	f := newFixture(t, packages(nil, nil, "a==1"))
	made := func() string {
		_, err := f.Make(t.Context())
		require.NoError(t, err)
		env, err := f.store.SoundImage(theImage)
		require.NoError(t, err)
		return env.Dir
	}
	first := made()
	f.Runs = theRun{overwrites: true, began: time.Now()}
	second := made()
	require.NotEqual(t, first, second)
	require.Equal(t, second, made(), "another attempt of the same run")
	require.DirExists(t, filepath.Join(f.dir, "environments", "made", first), "tasks may run there")

	f.Run = "unknown"
	_, err := f.Make(t.Context())
	require.ErrorContains(t, err, "read the run of this build, p/d/unknown")
}

func TestAnEnvironmentIsMadeOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, packages(nil, nil, "a==1", "b"))
	image, err := f.Make(t.Context())
	require.NoError(t, err)
	require.Equal(t, f.Target, image)
	require.Contains(t, f.log.String(), "wanted: a==1\nwanted: b\n")
	require.Contains(t, f.log.String(), "arguments: pip install flyte==1\n")
	require.Contains(t, f.log.String(), "--python /machine/python3.11")
	env, err := f.store.SoundImage(theImage)
	require.NoError(t, err)
	require.Equal(t, "p/d/r", env.Project+"/"+env.Domain+"/"+env.Run)
	f.log.Reset()
	_, err = f.Make(t.Context())
	require.NoError(t, err)
	require.Contains(t, f.log.String(), "exists: its environment was made")
	require.NotContains(t, f.log.String(), "wanted")
}

// A command can write all that is in its environment. Packages that were linked to the cache would change in all environments,
// so those of an image that runs commands are copies.
func TestImagesThatRunCommandsHaveCopies(t *testing.T) {
	t.Parallel()
	for want, layers := range map[string][]*pb.Layer{
		"links: copy\n":        {packages(nil, nil, "a==1"), running("true")},
		"links: the default\n": {packages(nil, nil, "a==1")},
	} {
		f := newFixture(t, layers...)
		_, err := f.Make(t.Context())
		require.NoError(t, err)
		require.Equal(t, strings.Count(f.log.String(), "links: "), strings.Count(f.log.String(), want), f.log.String())
		require.Contains(t, f.log.String(), want)
	}
}

func TestSecretsReachTheInstallerAndNothingElse(t *testing.T) {
	t.Parallel()
	const value = "pa$$ word/é"
	mounts := []*core.Secret{{Group: "g", Key: "token", EnvVar: "TOKEN"}}
	options := &pb.PipOptions{IndexUrl: "https://me:${TOKEN}@index/simple", ExtraIndexUrls: []string{"https://$TOKEN@a/", "https://$OTHER@b/"}}
	f := newFixture(t, packages(options, mounts, "a @ git+https://$TOKEN@host/a"), running("echo \"[$TOKEN]\""))
	require.NoError(t, os.WriteFile(filepath.Join(f.dir, "secrets", "g", "token"), []byte(value+"\n"), 0o600))
	_, err := f.Make(t.Context())
	require.NoError(t, err)
	log := f.log.String()
	require.Contains(t, log, "index: https://me:****@index/simple; https://****@a/ https://$OTHER@b/")
	require.Contains(t, log, "wanted: a @ git+https://****@host/a")
	require.Contains(t, log, "\n[]\n", "another layer does not get it")
	require.NotContains(t, log, value)
	require.NoError(t, filepath.WalkDir(filepath.Join(f.dir, "environments"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := os.ReadFile(path)
		require.NotContains(t, string(body), value, path)
		return err
	}))

	missing := newFixture(t, packages(nil, []*core.Secret{{Key: "none"}}, "a"))
	_, err = missing.Make(t.Context())
	require.ErrorContains(t, err, "asks for secret none")
}

func TestWhatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	f := newFixture(t, packages(&pb.PipOptions{ExtraArgs: "--no-build"}, nil, "a"))
	_, err := f.Make(t.Context())
	require.ErrorContains(t, err, "layer step 1 of 1: uv failed (exit status 1)")
	require.Contains(t, f.log.String(), "cannot install that")

	f = newFixture(t)
	require.NoError(t, os.Remove(filepath.Join(f.dir, "bin", "uv")))
	_, err = f.Make(t.Context())
	require.ErrorContains(t, err, "pip install uv")

	f = newFixture(t)
	f.spec(t, "3.99", nil)
	_, err = f.Make(t.Context())
	require.ErrorContains(t, err, "Python 3.99, which this machine does not have")

	f = newFixture(t)
	f.Target = "image:latest"
	_, err = f.Make(t.Context())
	require.ErrorContains(t, err, "target_image")

	for _, uri := range []string{"/etc/passwd", "spec.pb", "/etc/../../x", ""} {
		f = newFixture(t)
		f.Spec = uri
		_, err = f.Make(t.Context())
		require.ErrorContains(t, err, "spec: ", uri)
	}
	f = newFixture(t)
	f.blob(t, "spec.pb", []byte("no message"))
	_, err = f.Make(t.Context())
	require.ErrorContains(t, err, "is not the description of an image")
	f = newFixture(t)
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(f.dir, "blobs", "link")))
	f.Spec = filepath.Join(f.dir, "blobs", "link")
	_, err = f.Make(t.Context())
	require.ErrorContains(t, err, "escapes")
}

func TestFilesOfTheClient(t *testing.T) {
	t.Parallel()
	f := newFixture(t, copying("src", "src"), copying("a.txt", "."), copying("a.txt", "b.txt"))
	f.archive(t,
		&tar.Header{Name: "a.txt", Typeflag: tar.TypeReg}, &tar.Header{Name: "src/", Typeflag: tar.TypeDir, Mode: 0o755},
		&tar.Header{Name: "src/x/m.py", Typeflag: tar.TypeReg}, &tar.Header{Name: "src/l.py", Typeflag: tar.TypeSymlink, Linkname: "x/m.py"},
		&tar.Header{Name: "src/n", Typeflag: tar.TypeSymlink, Linkname: "x"},
	)
	_, err := f.Make(t.Context())
	require.NoError(t, err)
	env, err := f.store.FindImage(theImage)
	require.NoError(t, err)
	for name, want := range map[string]string{"src/x/m.py": "src/x/m.py", "src/l.py": "src/x/m.py", "a.txt": "a.txt", "b.txt": "a.txt"} {
		body, err := os.ReadFile(filepath.Join(env.Files, env.WorkDir, name))
		require.NoError(t, err)
		require.Equal(t, want, string(body))
	}
	require.Contains(t, f.log.String(), "the link src/n is left out")
}

func TestHostileArchives(t *testing.T) {
	t.Parallel()
	for want, entries := range map[string][]*tar.Header{
		`entry "../x": its name leads out`:       {{Name: "../x", Typeflag: tar.TypeReg}},
		`entry "/x": its name leads out`:         {{Name: "/x", Typeflag: tar.TypeReg}},
		`entry "a/../../x": its name leads`:      {{Name: "a/../../x", Typeflag: tar.TypeReg}},
		`the link to "/etc" leads out`:           {{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "/etc"}},
		`the link to "../../etc" leads out`:      {{Name: "d/l", Typeflag: tar.TypeSymlink, Linkname: "../../etc"}},
		"neither a file nor a directory":         {{Name: "h", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"}},
		`entry "p": is neither a file`:           {{Name: "p", Typeflag: tar.TypeFifo}},
		"the client has not sent the file asked": {{Name: "other", Typeflag: tar.TypeReg}},
	} {
		f := newFixture(t, copying("asked", "."))
		f.archive(t, entries...)
		_, err := f.Make(t.Context())
		require.ErrorContains(t, err, want)
	}
	f := newFixture(t)
	f.blob(t, "no-archive", []byte("x"))
	f.Context = filepath.Join(f.dir, "blobs", "no-archive")
	_, err := f.Make(t.Context())
	require.ErrorContains(t, err, "not an archive")
}

func TestACommandChangesOnlyItsImage(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "outside")
	require.NoError(t, os.WriteFile(outside, []byte("kept"), 0o666))
	f := newFixture(t, running("echo inside > made; mkdir -p sub; which python; echo changed > "+outside+" || echo refused"))
	_, err := f.Make(t.Context())
	require.NoError(t, err)
	env, err := f.store.FindImage(theImage)
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(env.Files, "root", "made"))
	require.Contains(t, f.log.String(), filepath.Join(env.Venv, "bin", "python"))
	if !f.fences() {
		t.Skip("the fence needs root and mount namespaces")
	}
	body, err := os.ReadFile(outside)
	require.NoError(t, err)
	require.Equal(t, "kept", string(body))
	require.Contains(t, f.log.String(), "refused")
}

// fences reports whether commands were fenced.
func (f *fixture) fences() bool {
	return os.Geteuid() == 0 && !strings.Contains(f.log.String(), "does not allow mount namespaces")
}

// A command has the rights of a step of an image build in a container: it cannot undo its fence, nor reach what others use.
func TestACommandCannotLeaveItsFence(t *testing.T) {
	t.Parallel()
	machine := t.TempDir()
	outside := filepath.Join(machine, "outside")
	require.NoError(t, os.WriteFile(outside, []byte("kept"), 0o666))
	script := `try() { if sh -c "$2" >/dev/null 2>&1; then echo "escaped: $1"; else echo "held: $1"; fi; }
try remount 'mount -o remount,rw / && echo x > OUTSIDE'
try rebind 'mount -o remount,bind,rw MACHINE && echo x > OUTSIDE'
try umount 'umount MACHINE'
try namespace 'unshare -m true'
try enter 'nsenter -t 1 -m true'
try user 'unshare -Urm sh -c "mount -o remount,rw / && echo x > OUTSIDE"'
try root 'echo x > /proc/1/root/OUTSIDE'
try parent 'echo x > /proc/$(awk "{print \$4}" /proc/$PPID/stat)/root/OUTSIDE'
try node 'mknod disk b 7 0'
try devices 'ls /dev/mem || ls /dev/loop0 || ls /dev/sda || ls /dev/vda'
try kernel 'echo 1 > /proc/sys/vm/drop_caches'
try cache 'touch @CACHE/poisoned'
try write 'echo x > OUTSIDE'
echo works > own && chown 65534 own && chmod 600 own && mkdir -p "$TMPDIR/d" "$HOME/h" "$UV_CACHE_DIR" && : > /dev/null && echo fine
`
	f := newFixture(t)
	script = strings.NewReplacer("MACHINE", machine, "OUTSIDE", outside, "@CACHE", f.store.Cache()).Replace(script)
	f.spec(t, "3.11", []*pb.Layer{running(script)})
	_, err := f.Make(t.Context())
	require.NoError(t, err, f.log.String())
	log := f.log.String()
	if !f.fences() {
		t.Skip("the fence needs root and mount namespaces")
	}
	require.NotContains(t, log, "\nescaped: ", log)
	require.Equal(t, 13, strings.Count(log, "\nheld: "), log)
	require.Contains(t, log, "\nfine\n", log)
	body, err := os.ReadFile(outside)
	require.NoError(t, err)
	require.Equal(t, "kept", string(body))
}

// The tag of an image is what its project says of it, and an environment is that of its description.
func TestATagOfAnotherProjectMeansNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, packages(nil, nil, "evil"))
	_, err := f.Make(t.Context())
	require.NoError(t, err)
	f.log.Reset()
	f.spec(t, "3.11", []*pb.Layer{packages(nil, nil, "good")})
	_, err = f.Make(t.Context())
	require.NoError(t, err)
	require.Contains(t, f.log.String(), "wanted: good", "the same tag, and another description")
	f.log.Reset()
	_, err = f.Make(t.Context())
	require.NoError(t, err)
	require.Contains(t, f.log.String(), "exists: its environment was made")
}

// Two archives of the same files are the same description.
func TestTheDescriptionIsThatOfTheFiles(t *testing.T) {
	t.Parallel()
	f := newFixture(t, copying("a.txt", "."))
	a, b := &tar.Header{Name: "a.txt", Typeflag: tar.TypeReg}, &tar.Header{Name: "b.txt", Typeflag: tar.TypeReg}
	f.archive(t, a, b)
	_, err := f.Make(t.Context())
	require.NoError(t, err)
	f.log.Reset()
	a.ModTime = time.Now()
	f.archive(t, b, a)
	_, err = f.Make(t.Context())
	require.NoError(t, err)
	require.Contains(t, f.log.String(), "exists")
	f.archive(t, a)
	_, err = f.Make(t.Context())
	require.NoError(t, err)
	require.Contains(t, f.log.String(), "Building a Python environment")
}

func TestPackagesThatDoNotFitTogetherAreSaid(t *testing.T) {
	t.Parallel()
	f := newFixture(t, packages(nil, nil, "a"), running(`touch "$VIRTUAL_ENV/mixed"`))
	_, err := f.Make(t.Context())
	require.NoError(t, err)
	require.Contains(t, f.log.String(), "Warning: the packages of image")
	env, err := f.store.FindImage(theImage)
	require.NoError(t, err)
	require.Contains(t, env.Warning, "The package `a` requires `b>2`, but `1` is installed")
	fits := newFixture(t, packages(nil, nil, "a"))
	_, err = fits.Make(t.Context())
	require.NoError(t, err)
	env, err = fits.store.FindImage(theImage)
	require.NoError(t, err)
	require.Empty(t, env.Warning)
}

func TestAProjectForAnotherPythonIsRefusedInWords(t *testing.T) {
	t.Parallel()
	f := newFixture(t, &pb.Layer{Layer: &pb.Layer_UvProject{UvProject: &pb.UVProject{Pyproject: "."}}})
	f.archive(t, &tar.Header{Name: "pyproject.toml", Typeflag: tar.TypeReg})
	f.rewrite(t, "pyproject.toml", "[project]\nname = \"x\"\nrequires-python = \">=3.12\"\n")
	_, err := f.Make(t.Context())
	require.ErrorContains(t, err, "this project wants Python >=3.12, and the image has Python 3.11")
}

// rewrite makes the archive one file with a content.
func (f *fixture) rewrite(t *testing.T, name, content string) {
	t.Helper()
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	writer := tar.NewWriter(zipped)
	require.NoError(t, writer.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Size: int64(len(content)), Mode: 0o644}))
	_, err := writer.Write([]byte(content))
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	require.NoError(t, zipped.Close())
	f.blob(t, "context.tar.gz", packed.Bytes())
}
