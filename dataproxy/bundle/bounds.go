package bundle

import (
	"errors"
	"io"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// errBeyond ends the reading of an archive that exceeds a limit.
var errBeyond = errors.New("the archive exceeds a limit")

// bounded reads up to a limit and then fails, since a reader that ends would look like an archive that is broken.
type bounded struct {
	from io.Reader
	left int64
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errBeyond
	}
	n, err := b.from.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// interruptible stops with the context, which readers of files do not, and marks failures of the store.
type interruptible struct {
	over func() error // why to stop; nil to continue
	from io.Reader
}

// Read implements io.Reader.
func (r *interruptible) Read(p []byte) (int, error) {
	if err := r.over(); err != nil {
		return 0, err
	}
	n, err := r.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &readError{err}
	}
	return n, err
}

// readError is an error of the source of the archive.
type readError struct{ err error }

// Error implements error.
func (f *readError) Error() string { return f.err.Error() }

// Unwrap is for errors.As.
func (f *readError) Unwrap() error { return f.err }

// maxPath bounds the path of a file; longer ones are left out.
const maxPath = 1024

// clean is the path of an entry within its archive; false when it leads out of it, or is nothing that can be shown.
func clean(name string) (string, bool) {
	if name == "" || len(name) > maxPath || !utf8.ValidString(name) || strings.HasPrefix(name, "/") ||
		strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || r == '\\' || bidi(r) }) {
		return "", false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "", false
		}
	}
	name = path.Clean(name)
	return name, name != "."
}

// bidi reports control characters that make a name look like another.
func bidi(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) }
