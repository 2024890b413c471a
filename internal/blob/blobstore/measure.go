package blobstore

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"gocloud.dev/blob"
)

// MaxPage is how many objects a page of Measure has at most: S3 lists no more in a request.
const MaxPage = 1000

// ErrBadToken says that a token of Measure has a form that this store did not give out.
var ErrBadToken = errors.New("not a token of this listing")

// Page is what one request of Measure finds.
type Page struct {
	// Objects and Bytes are the number of objects and their sizes together.
	Objects, Bytes int64
	// Found are the objects.
	Found []Found
	// Next continues after the page, also in another process; empty after the last page.
	Next string
}

// Found is an object of a page.
type Found struct {
	// Name is what follows the directory in its URI.
	Name  string
	Bytes int64
}

// Measure visits the pages of a listing of every object below uri, a "directory" with or without a slash at its end. A page is one
// request to a bucket, of at most size objects; the next request is sent when visit returns. after is the Next of a page, with which the listing continues;
// empty means from the beginning. Nothing below uri is one empty page. It returns the first error of visit.
func (s *Store) Measure(ctx context.Context, uri, after string, size int, visit func(Page) error) error {
	uri = strings.TrimRight(uri, "/")
	b, key, err := s.resolve(uri)
	if err != nil {
		return err
	}
	if err := b.measure(ctx, key, after, min(size, MaxPage), visit); err != nil {
		return fmt.Errorf("measure %s: %w", uri, err)
	}
	return nil
}

func (p *Page) add(name string, bytes int64) {
	p.Objects++
	p.Bytes += bytes
	p.Found = append(p.Found, Found{Name: name, Bytes: bytes})
}

// measure walks in the order of names, so that a name says what was visited. It skips everything but regular files.
func (f *files) measure(ctx context.Context, key, after string, size int, visit func(Page) error) error {
	var page Page
	last := ""
	err := fs.WalkDir(f.dir.FS(), key, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // deleted since its directory was read
			return nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		name, below := strings.CutPrefix(path, key+"/")
		if !below {
			return nil
		}
		if visited(name, after) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if page.Objects == int64(size) {
			page.Next = last
			if err := visit(page); err != nil {
				return err
			}
			page = Page{}
		}
		page.add(name, info.Size())
		last = name
		return nil
	})
	if err = fileError(err); err != nil && !errors.Is(err, ErrNotExist) {
		return err
	}
	return visit(page)
}

// visited reports whether a walk that has come to after has visited name and everything below it.
func visited(name, after string) bool {
	steps, reached := strings.Split(name, "/"), strings.Split(after, "/")
	for i, step := range steps {
		switch {
		case i == len(reached):
			return false // below a file: it was replaced by a directory
		case step != reached[i]:
			return step < reached[i]
		}
	}
	return len(steps) == len(reached)
}

func (b *bucket) measure(ctx context.Context, key, after string, size int, visit func(Page) error) error {
	token := blob.FirstPageToken
	if after != "" {
		var err error
		if token, err = base64.StdEncoding.DecodeString(after); err != nil {
			return fmt.Errorf("%w: %w", ErrBadToken, err)
		}
	}
	for {
		found, next, err := b.bucket.ListPage(ctx, token, size, &blob.ListOptions{Prefix: b.key(key) + "/"})
		if err != nil {
			return bucketError(err)
		}
		page := Page{Next: base64.StdEncoding.EncodeToString(next)}
		for _, object := range found {
			page.add(strings.TrimPrefix(object.Key, b.key(key)+"/"), object.Size)
		}
		if err := visit(page); err != nil || len(next) == 0 {
			return err
		}
		token = next
	}
}
