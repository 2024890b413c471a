package pgbundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Install unpacks the archive, a compressed tar file, into a directory below base that is named after version and contents,
// and returns that directory. Later calls find it. Everyone may read it, since under root Postgres runs as another user.
// Processes may call it at the same time; one that dies leaves nothing that a later call would take for complete.
func Install(archive []byte, version, base string) (string, error) {
	sum := sha256.Sum256(archive)
	target := filepath.Join(base, "postgres-"+version+"-"+hex.EncodeToString(sum[:6]))
	if complete(target) {
		return target, nil
	}
	if err := os.MkdirAll(base, 0o755); err != nil { //nolint:gosec // see above
		return "", fmt.Errorf("create a directory for Postgres: %w", err)
	}
	unlock, err := lock(filepath.Join(base, "postgres.lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if complete(target) { // another process was faster
		return target, nil
	}
	unpacking := target + ".unpacking"
	if err := os.RemoveAll(unpacking); err != nil {
		return "", fmt.Errorf("remove what an earlier start left: %w", err)
	}
	if err := unpack(archive, unpacking); err != nil {
		return "", errors.Join(fmt.Errorf("unpack Postgres into %s: %w", base, err), os.RemoveAll(unpacking))
	}
	if err := os.Rename(unpacking, target); err != nil {
		return "", fmt.Errorf("unpack Postgres: %w", err)
	}
	return target, nil
}

// complete: the directory gets its name when everything is in it.
func complete(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}

// lock waits until no other process has the lock. The kernel releases it when the process ends.
func lock(path string) (func(), error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of the Postgres programs: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
	}
	return func() { _ = file.Close() }, nil
}

func unpack(archive []byte, dir string) error {
	plain, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil { //nolint:gosec // the user of the server reads it
		return err
	}
	for entries := tar.NewReader(plain); ; {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			// The checksum of the archive is at its end.
			_, err = io.ReadAll(plain)
			return err
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg || !filepath.IsLocal(header.Name) {
			return fmt.Errorf("unexpected entry %q in the archive", header.Name)
		}
		if err := writeFile(dir, header.Name, header.FileInfo().Mode().Perm(), entries); err != nil {
			return err
		}
	}
}

func writeFile(dir, name string, mode fs.FileMode, content io.Reader) error {
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // the user of the server reads it
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	// The mode must not depend on the umask.
	return errors.Join(err, file.Chmod(mode), file.Close())
}
