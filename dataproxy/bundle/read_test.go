package bundle_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/flyte-binary/flyte-binary/dataproxy/bundle"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var limits = bundle.Limits{Unpacked: 1 << 20, Files: 100, Text: 1000}

// entry is a file of an archive, or something else when kind is set.
type entry struct {
	name, body string
	kind       byte
}

func tgz(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(e.body))}
		if e.kind != 0 {
			header.Typeflag, header.Size, header.Linkname = e.kind, 0, e.body
		}
		require.NoError(t, w.WriteHeader(header))
		if e.kind == 0 {
			_, err := io.WriteString(w, e.body)
			require.NoError(t, err)
		}
	}
	require.NoError(t, w.Close())
	require.NoError(t, zipped.Close())
	return out.Bytes()
}

func read(t testing.TB, archive []byte, wanted bundle.Wanted) *bundle.Contents {
	t.Helper()
	contents, err := bundle.Read(t.Context(), bytes.NewReader(archive), wanted, limits)
	require.NoError(t, err)
	return contents
}

func paths(c *bundle.Contents) []string {
	var all []string
	for _, file := range c.Files {
		all = append(all, file.Path)
	}
	return all
}

const code = `import flyte

env = flyte.TaskEnvironment("e")


class Helper:
    def main(self):
        pass


@env.task
async def main(x: int) -> int:
    return x
`

func TestTheFileOfTheFunction(t *testing.T) {
	archive := tgz(t, entry{name: "./pkg", kind: tar.TypeDir}, entry{name: "./pkg/flow.py", body: code}, entry{name: "pkg/__init__.py"}, entry{name: "data.json", body: "{}"})
	got := read(t, archive, bundle.Wanted{Entry: bundle.Entry{Module: "pkg.flow", Function: "main"}})
	require.Equal(t, &bundle.Contents{
		Files: []bundle.File{{"data.json", 2}, {"pkg/__init__.py", 0}, {"pkg/flow.py", int64(len(code))}},
		Path:  "pkg/flow.py", Text: code, Line: 12,
	}, got)

	got = read(t, archive, bundle.Wanted{Path: "data.json", Entry: bundle.Entry{Module: "pkg.flow", Function: "main"}})
	require.Equal(t, "data.json", got.Path)
	require.Equal(t, "{}", got.Text)
	require.Zero(t, got.Line, "the function is elsewhere")

	got = read(t, archive, bundle.Wanted{Path: "none.py"})
	require.Empty(t, got.Path)
	require.Len(t, got.Files, 3)
}

func TestWhichFileFitsAModule(t *testing.T) {
	for name, c := range map[string]struct {
		files []string
		want  string
	}{
		"the module before the package": {[]string{"a/b/__init__.py", "a/b.py"}, "a/b.py"},
		"a package":                     {[]string{"a/b/__init__.py", "a/b/c.py", "b.py"}, "a/b/__init__.py"},
		"below a directory of sources":  {[]string{"src/a/b.py", "b.py"}, "src/a/b.py"},
		"the outermost first":           {[]string{"src/a/b.py", "a/b.py"}, "a/b.py"},
		"not a part of a name":          {[]string{"xa/b.py"}, ""},
	} {
		var entries []entry
		for _, file := range c.files {
			entries = append(entries, entry{name: file, body: "def f(): pass"})
		}
		got := read(t, tgz(t, entries...), bundle.Wanted{Entry: bundle.Entry{Module: "a.b", Function: "f"}})
		require.Equal(t, c.want, got.Path, name)
	}
	got := read(t, tgz(t, entry{name: "train.py", body: "print()"}), bundle.Wanted{Entry: bundle.Entry{File: "train.py"}})
	require.Equal(t, "train.py", got.Path)
	require.Zero(t, got.Line)
}

func TestTheLineOfADefinition(t *testing.T) {
	for text, want := range map[string]int{
		"\n\ndef f():":                       3,
		"async  def f (x):":                  1,
		"def f[T](x: T):":                    1,
		"def ff():\n  pass\n\tdef f():":      3,
		"f = env.task(lambda: 1)":            1,
		"\nf: Task = make()":                 2,
		"x = f == 1":                         0,
		"f == 1":                             0,
		"# nothing":                          0,
		"class A:\n  def f(): 1\ndef f(): 2": 3,
	} {
		got := read(t, tgz(t, entry{name: "m.py", body: text}), bundle.Wanted{Entry: bundle.Entry{Module: "m", Function: "f"}})
		require.Equal(t, want, got.Line, text)
	}
	for _, function := range []string{"", "(", ".*", "a-b", "f("} {
		got := read(t, tgz(t, entry{name: "m.py", body: "def f(): 1"}), bundle.Wanted{Entry: bundle.Entry{Module: "m", Function: function}})
		require.Zero(t, got.Line, function)
	}
}

func TestHostileEntriesAreLeftOut(t *testing.T) {
	archive := tgz(t,
		entry{name: "../up.py", body: "x"}, entry{name: "a/../../up.py", body: "x"}, entry{name: "/etc/passwd", body: "x"},
		entry{name: "a/..", body: "x"}, entry{name: "a\\..\\b", body: "x"}, entry{name: "new\nline", body: "x"}, entry{name: "\xff.py", body: "x"},
		entry{name: "gpj.\u202eyp", body: "x"}, entry{name: strings.Repeat("d/", 600) + "deep", body: "x"},
		entry{name: "link.py", kind: tar.TypeSymlink, body: "/etc/passwd"}, entry{name: "hard.py", kind: tar.TypeLink, body: "good.py"},
		entry{name: "dev", kind: tar.TypeChar}, entry{name: "pipe", kind: tar.TypeFifo},
		entry{name: "good.py", body: "first"}, entry{name: "./good.py", body: "second"},
	)
	for _, path := range []string{"../up.py", "/etc/passwd", "link.py", "hard.py"} {
		got := read(t, archive, bundle.Wanted{Path: path})
		require.Empty(t, got.Path)
		require.Empty(t, got.Text)
	}
	got := read(t, archive, bundle.Wanted{Path: "good.py"})
	require.Equal(t, []string{"good.py"}, paths(got))
	require.Equal(t, "second", got.Text, "the later one, as when unpacked")
}

func TestBounds(t *testing.T) {
	t.Run("a bomb", func(t *testing.T) {
		got := read(t, tgz(t, entry{name: "a.py", body: "a"}, entry{name: "zeros", body: strings.Repeat("\x00", 8<<20)}, entry{name: "z.py", body: "z"}),
			bundle.Wanted{Path: "a.py"})
		require.True(t, got.Partial)
		require.Equal(t, []string{"a.py", "zeros"}, paths(got))
		require.Equal(t, "a", got.Text)
	})
	t.Run("many files", func(t *testing.T) {
		var entries []entry
		for i := range limits.Files + 5 {
			entries = append(entries, entry{name: fmt.Sprintf("%03d", i)})
		}
		got := read(t, tgz(t, entries...), bundle.Wanted{})
		require.Len(t, got.Files, limits.Files)
		require.True(t, got.Partial)
	})
	t.Run("many that fit", func(t *testing.T) {
		entries := []entry{{name: "m.py", body: "def f(): pass"}}
		for i := range 50 {
			entries = append([]entry{{name: fmt.Sprintf("%d/m.py", i), body: strings.Repeat("x", 5000)}}, entries...)
		}
		got := read(t, tgz(t, entries...), bundle.Wanted{Entry: bundle.Entry{Module: "m", Function: "f"}})
		require.Equal(t, "m.py", got.Path)
	})
	t.Run("a long file ends with a whole character", func(t *testing.T) {
		got := read(t, tgz(t, entry{name: "a", body: strings.Repeat("a", int(limits.Text)-1) + "€€"}), bundle.Wanted{Path: "a"})
		require.True(t, got.Truncated)
		require.Equal(t, strings.Repeat("a", int(limits.Text)-1), got.Text)
		got = read(t, tgz(t, entry{name: "a", body: strings.Repeat("a", int(limits.Text))}), bundle.Wanted{Path: "a"})
		require.False(t, got.Truncated)
		require.Len(t, got.Text, int(limits.Text))
	})
	t.Run("not text", func(t *testing.T) {
		for _, body := range []string{"\x89PNG\x0d\x0a\x00", "\xff\xfe"} {
			got := read(t, tgz(t, entry{name: "a", body: body}), bundle.Wanted{Path: "a"})
			require.Equal(t, "a", got.Path)
			require.True(t, got.Truncated)
			require.Empty(t, got.Text)
		}
	})
}

func TestUnreadableArchives(t *testing.T) {
	good := tgz(t, entry{name: "a.py", body: strings.Repeat("abc", 1000)})
	for name, body := range map[string][]byte{
		"text": bytes.Repeat([]byte("hello "), 500), "half": good[:len(good)/2], "only the magic number of gzip": {0x1f, 0x8b},
	} {
		_, err := bundle.Read(t.Context(), bytes.NewReader(body), bundle.Wanted{}, limits)
		require.ErrorIs(t, err, bundle.ErrUnreadable, name)
	}
	empty := read(t, tgz(t), bundle.Wanted{})
	require.Empty(t, empty.Files)
	require.False(t, empty.Partial)
}

func TestErrorsOutsideOfTheArchive(t *testing.T) {
	down := errors.New("the store is down")
	_, err := bundle.Read(t.Context(), io.MultiReader(bytes.NewReader(tgz(t, entry{name: "a"})[:20]), failing{down}), bundle.Wanted{}, limits)
	require.ErrorIs(t, err, down)
	require.NotErrorIs(t, err, bundle.ErrUnreadable)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = bundle.Read(ctx, bytes.NewReader(tgz(t, entry{name: "a"})), bundle.Wanted{}, limits)
	require.ErrorIs(t, err, context.Canceled)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
