package copilot

import (
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
)

// fetch downloads one object in the background.
func (p *placer) fetch(at, uri string) error {
	if err := p.mkdir(path.Dir(at)); err != nil {
		return err
	}
	p.group.Go(func() error {
		err := again(p.ctx, p.clock, func() error { return p.copyObject(at, uri) })
		if err != nil {
			name, _, _ := strings.Cut(at, "/")
			return fmt.Errorf("input %q: %w", name, unavailable(uri, err))
		}
		return nil
	})
	return nil
}

// copyObject writes an object to a file. A try that broke off left a part, which the next one truncates.
func (p *placer) copyObject(at, uri string) error {
	reader, err := p.blobs.NewReader(p.ctx, uri)
	if err != nil {
		return err
	}
	defer reader.Close()
	file, err := p.root.OpenFile(at, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, fileMode)
	if err != nil {
		return fmt.Errorf("%w: %w", errLocal, err)
	}
	defer file.Close()
	if _, err := io.Copy(file, reader); err != nil {
		return err
	}
	return finish(p.root, at, file)
}

// fetchTree downloads everything below a URI. A URI that names an object becomes a file.
func (p *placer) fetchTree(at, uri string) error {
	uri = strings.TrimRight(uri, "/")
	var names []string
	err := again(p.ctx, p.clock, func() error {
		names = nil
		return p.blobs.List(p.ctx, uri, func(object blobstore.Object) error {
			names = append(names, object.Name)
			return nil
		})
	})
	if err != nil {
		return unavailable(uri, err)
	}
	for _, name := range names {
		for step := range strings.SplitSeq(name, "/") {
			// Names come from the object store, where anyone with write access chose them. The root refuses paths that
			// leave it; this gives the user a better answer.
			if !isName(step) {
				return badInput("%s/%s cannot be the name of a file", uri, name)
			}
		}
		if err := p.fetch(path.Join(at, name), uri+"/"+name); err != nil {
			return err
		}
	}
	if len(names) > 0 {
		return nil
	}
	// Nothing is below the URI, so it may be an object itself.
	if reader, err := p.blobs.NewReader(p.ctx, uri); err == nil {
		_ = reader.Close()
		return p.fetch(at, uri)
	}
	return p.mkdir(at) // object stores have no empty directories
}

// mkdir creates a directory and its parents, writable for every user.
func (p *placer) mkdir(at string) error {
	made := ""
	for step := range strings.SplitSeq(at, "/") {
		made = path.Join(made, step)
		if made == "." {
			continue
		}
		err := p.root.Mkdir(made, dirMode)
		switch {
		case os.IsExist(err):
			if info, err := p.root.Lstat(made); err == nil && !info.IsDir() {
				return badInput("two inputs have the path %s", made)
			}
		case err != nil:
			return fmt.Errorf("%w: %w", errLocal, err)
		default:
			if err := p.root.Chmod(made, dirMode); err != nil {
				return fmt.Errorf("%w: %w", errLocal, err)
			}
		}
	}
	return nil
}

func (p *placer) write(at string, body []byte) error {
	if err := writeFile(p.root, at, body); err != nil {
		return fmt.Errorf("%w: %w", errLocal, err)
	}
	return nil
}

func writeFile(root *os.Root, name string, body []byte) error {
	file, err := root.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, fileMode)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Write(body); err != nil {
		return err
	}
	return finish(root, name, file)
}

// finish sets the mode of a file regardless of the umask, and returns errors that only Close reports.
func finish(root *os.Root, name string, file *os.File) error {
	if err := root.Chmod(name, fileMode); err != nil {
		return fmt.Errorf("%w: %w", errLocal, err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("%w: %w", errLocal, err)
	}
	return nil
}
