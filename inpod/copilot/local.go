package copilot

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
)

// listFiles visits the regular files below a local directory; it skips symbolic links.
func listFiles(dir string, visit func(blobstore.Object) error) error {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		return visit(blobstore.Object{Name: path, Size: info.Size()})
	})
}

// isName reports whether text can be the name of one file.
func isName(text string) bool {
	return text != "" && text != "." && text != ".." && len(text) <= 255 && !strings.ContainsAny(text, "/\x00")
}
