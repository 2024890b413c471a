package node

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// attemptsName is the directory of a pod with a link to the directory of each of its containers: after a crash nothing else tells
// which those are.
const attemptsName = "attempts"

// remember notes that a container of a pod has a directory.
func (n *Node) remember(pod *corev1.Pod, container, root string) error {
	dir := filepath.Join(n.podsDir(), string(pod.UID), attemptsName)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := os.Symlink(root, filepath.Join(dir, container)); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// free removes the files of a pod that has left the API, of which only the directory need be known: volumes, logs, temporary
// directories, homes, and the code that was unpacked into the working directories. What else the working directories have stays, see
// place.
func (n *Node) free(podDir string) error {
	links, err := os.ReadDir(filepath.Join(podDir, attemptsName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("free the files of a pod: %w", err)
	}
	errs := make([]error, 0, len(links)+1)
	for _, link := range links {
		root, err := os.Readlink(filepath.Join(podDir, attemptsName, link.Name()))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, n.freeAttempt(root))
	}
	if err := errors.Join(errs...); err != nil {
		return err // what is left is found again
	}
	return os.RemoveAll(podDir)
}

// freeAttempt frees the directory of one container.
func (n *Node) freeAttempt(root string) error {
	errs := []error{n.removeTemporary(filepath.Join(root, "tmp")), os.RemoveAll(filepath.Join(root, "home"))}
	work := filepath.Join(root, "work")
	markers, err := filepath.Glob(filepath.Join(work, ".*"+unpackedSuffix))
	errs = append(errs, err)
	for _, marker := range markers {
		errs = append(errs, removeBundle(work, strings.TrimSuffix(strings.TrimPrefix(filepath.Base(marker), "."), unpackedSuffix)))
	}
	prune(work)
	n.removeEmpty(root)
	return errors.Join(errs...)
}

// removeEmpty removes a directory and its parents below the data directory, up to the first that has files: an attempt without
// results leaves no directory, and neither does an action without such an attempt. The next attempt may create its directory
// below the same parents at this moment.
func (n *Node) removeEmpty(dir string) {
	n.places.Lock()
	defer n.places.Unlock()
	for dir != n.cfg.DataDir && filepath.Dir(dir) != n.cfg.DataDir && os.Remove(dir) == nil {
		dir = filepath.Dir(dir)
	}
}

// removeTemporary removes the temporary directory that a link leads to, and the link.
func (n *Node) removeTemporary(link string) error {
	temp, err := os.Readlink(link)
	if err != nil || filepath.Dir(temp) != filepath.Join(n.cfg.DataDir, "tmp") {
		return nil //nolint:nilerr // it is gone already
	}
	return errors.Join(os.RemoveAll(temp), os.Remove(link))
}

// unpackedSuffix ends the name of the empty file with which the SDK notes that an archive of code alongside it is unpacked.
const unpackedSuffix = ".extracted"

// removeBundle removes an archive of code from a working directory, and its files that are as they were unpacked.
func removeBundle(work, name string) error {
	root, err := os.OpenRoot(work)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	errs := []error{removeUnpacked(root, name)}
	for _, file := range []string{name, "." + name + ".lock", "." + name + unpackedSuffix} {
		if err := root.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// removeUnpacked removes the files that an archive lists and that have its sizes and times. An archive that is gone or damaged, as a
// task may have left it, lists nothing.
func removeUnpacked(root *os.Root, name string) error {
	file, err := root.Open(name)
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return err
	}
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return nil
	}
	archive := tar.NewReader(io.LimitReader(unzipped, maxBundleBytes))
	for {
		entry, err := archive.Next()
		if err != nil {
			return nil
		}
		path := filepath.Clean(entry.Name)
		info, err := root.Lstat(path)
		if err != nil || entry.Typeflag == tar.TypeDir {
			continue
		}
		same := info.Mode()&fs.ModeSymlink != 0 && entry.Typeflag == tar.TypeSymlink ||
			info.Mode().IsRegular() && entry.Typeflag == tar.TypeReg && info.Size() == entry.Size && info.ModTime().Unix() == entry.ModTime.Unix()
		if same {
			if err := root.Remove(path); err != nil {
				return err
			}
		}
	}
}

// maxBundleBytes is how much of an archive is read; what follows stays.
const maxBundleBytes = 4 << 30

// prune removes what interpreters have compiled, and then empty directories. What cannot be removed stays.
func prune(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		switch {
		case entry.IsDir() && entry.Name() == "__pycache__":
			_ = os.RemoveAll(path)
		case entry.IsDir():
			prune(path)
		}
	}
	_ = os.Remove(dir)
}
