package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	// profileAfter skips the set-up of a case.
	profileAfter = time.Second
	profileFor   = 30 * time.Second
)

// Profile records the CPU of the server and of the API server during a case, and the server's heap at the end, when a
// directory is given. The function that it returns waits for that.
func (s *Stack) Profile(ctx context.Context, dir, name string) func() {
	if dir == "" {
		return func() {}
	}
	file := func(suffix string) string { return filepath.Join(dir, name+"."+suffix) }
	cpu := fmt.Sprintf("/debug/pprof/profile?seconds=%d", profileFor/time.Second)
	var recording sync.WaitGroup
	recording.Go(func() {
		if Pause(ctx, profileAfter) == nil {
			Save(file("server.cpu"), func() ([]byte, error) { return fetch(ctx, s.debug+cpu) })
		}
	})
	recording.Go(func() {
		if Pause(ctx, profileAfter) == nil {
			Save(file("apiserver.cpu"), func() ([]byte, error) { return s.Cluster.get(ctx, cpu) })
		}
	})
	return func() {
		recording.Wait()
		Save(file("server.heap"), func() ([]byte, error) { return fetch(ctx, s.debug+"/debug/pprof/heap") })
	}
}

// Save writes a profile to a file. A failure is only reported: the figures do not depend on it.
func Save(file string, read func() ([]byte, error)) {
	body, err := read()
	if err == nil {
		err = errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, body, 0o644))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "profile:", err)
	}
}

func fetch(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, response.Status)
	}
	return io.ReadAll(response.Body)
}
