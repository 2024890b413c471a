// Package clientcache keeps the SDK's cache in the home directory from naming data of demos that no longer exists.
//
// The SDK remembers for a day what it has uploaded and which images exist, by endpoint, project and domain. Two demos with
// different data usually have the same endpoint, so the second would run code from a directory that was deleted with
// the first.
package clientcache

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

//go:embed forget.py
var program string

// limit bounds a call; another process may hold the cache's lock.
const limit = 10 * time.Second

// Forget removes the bundles whose files are gone and the images of demos from the cache of this user, and returns the number of
// entries. The SDK uploads and asks again. python is an interpreter with the module sqlite3. No cache is not an error.
func Forget(ctx context.Context, python string) (int, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return 0, fmt.Errorf("find the SDK's cache: %w", err)
	}
	cache := filepath.Join(home, ".flyte", "local-cache", "cache.db")
	if _, err := os.Stat(cache); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(limited, python, "-I", "-c", program, cache)
	var failure bytes.Buffer
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("remove what is gone from the SDK's cache %s: %w: %s", cache, err, bytes.TrimSpace(failure.Bytes()))
	}
	count, err := strconv.Atoi(string(bytes.TrimSpace(out)))
	if err != nil {
		return 0, fmt.Errorf("remove what is gone from the SDK's cache %s: %w", cache, err)
	}
	return count, nil
}
