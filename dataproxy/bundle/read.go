package bundle

import (
	"archive/tar"
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// ErrUnreadable says that the bytes are not an archive, or a broken one.
var ErrUnreadable = errors.New("the code bundle cannot be read")

// Limits bound the reading of an archive. All are required.
type Limits struct {
	// Unpacked is how many bytes the archive may have when unpacked; reading stops there.
	Unpacked int64
	// Files is how many files are listed.
	Files int
	// Text is how many bytes of a file are shown.
	Text int64
}

// File is a file of an archive.
type File struct {
	Path string
	Size int64
}

// Wanted says which file is to be shown.
type Wanted struct {
	// Path is the file; empty for the one that defines Entry.
	Path string
	// Entry is where the task's function is.
	Entry Entry
}

// Contents is the result of reading an archive.
type Contents struct {
	// Files are by path.
	Files []File
	// Partial says that reading stopped at a limit.
	Partial bool
	// Path is the file that is shown; empty when it is not there.
	Path string
	// Text is the beginning of it.
	Text string
	// Truncated says that it is longer, or not text.
	Truncated bool
	// Line is where the function is defined, from 1; 0 when it is not in this file.
	Line int
}

// Read reads a tar archive, compressed by gzip or not, in one pass.
func Read(ctx context.Context, archive io.Reader, wanted Wanted, limits Limits) (*Contents, error) {
	plain, err := unzipped(bufio.NewReader(&interruptible{ctx.Err, archive}))
	if err != nil {
		return nil, unreadable(ctx, err)
	}
	bounded := &bounded{from: plain, left: limits.Unpacked}
	r := reader{tar: tar.NewReader(bounded), limits: limits, wanted: wanted, sizes: map[string]int64{}, kept: map[string]text{}}
	if err := r.all(); err != nil && !errors.Is(err, errBeyond) {
		return nil, unreadable(ctx, err)
	} else if err != nil {
		r.partial = true
	}
	return r.contents(), nil
}

func unreadable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var failed *readError
	if errors.As(err, &failed) { // the store, not the archive
		return failed.err
	}
	return fmt.Errorf("%w: %w", ErrUnreadable, err)
}

// unzipped detects a compressed archive by its first bytes.
func unzipped(r *bufio.Reader) (io.Reader, error) {
	magic, err := r.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b {
		return gzip.NewReader(r)
	}
	return r, nil
}

// reader collects the contents of an archive.
type reader struct {
	tar     *tar.Reader
	limits  Limits
	wanted  Wanted
	sizes   map[string]int64
	kept    map[string]text // of files that may be the one to show
	partial bool
}

// text is the beginning of a file.
type text struct {
	body []byte
	more bool
}

func (r *reader) all() error {
	for {
		header, err := r.tar.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := r.take(header); err != nil {
			return err
		}
	}
}

// take notes an entry. Only plain files are shown: links may lead anywhere, and devices are not code.
func (r *reader) take(header *tar.Header) error {
	if header.Typeflag != tar.TypeReg {
		return nil
	}
	path, ok := clean(header.Name)
	if !ok {
		return nil
	}
	// A path that comes twice is the later file, as when unpacked.
	if _, again := r.sizes[path]; !again && len(r.sizes) >= r.limits.Files {
		r.partial = true
		return nil
	}
	r.sizes[path] = header.Size
	delete(r.kept, path)
	if path != r.wanted.Path && r.wanted.Entry.rank(path) == 0 {
		return nil
	}
	// Those that fit as well are few in good archives; hostile ones do not fill the memory with them.
	if r.wanted.Entry.rank(path) != best && path != r.wanted.Path && len(r.kept) >= maxCandidates {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(r.tar, r.limits.Text+1))
	if err != nil {
		return err
	}
	r.kept[path] = text{body: body[:min(int64(len(body)), r.limits.Text)], more: int64(len(body)) > r.limits.Text}
	return nil
}

// maxCandidates bounds how many files are kept that the function may be in.
const maxCandidates = 8

func (r *reader) contents() *Contents {
	result := &Contents{Partial: r.partial, Files: make([]File, 0, len(r.sizes))}
	for _, path := range slices.Sorted(maps.Keys(r.sizes)) {
		result.Files = append(result.Files, File{Path: path, Size: r.sizes[path]})
	}
	entry := r.entry()
	result.Path = cmp.Or(r.wanted.Path, entry)
	shown, ok := r.kept[result.Path]
	if !ok {
		result.Path = ""
		return result
	}
	result.Text, result.Truncated = asText(shown)
	if result.Path == entry {
		result.Line = definition(result.Text, r.wanted.Entry.Function)
	}
	return result
}

// entry is the file that fits the function's module best.
func (r *reader) entry() string {
	chosen, rank := "", 0
	for _, path := range slices.Sorted(maps.Keys(r.kept)) {
		if fits := r.wanted.Entry.rank(path); fits > rank {
			chosen, rank = path, fits
		}
	}
	return chosen
}
