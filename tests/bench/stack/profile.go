package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
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
		Save(file("server.heap"), func() ([]byte, error) { return fetch(ctx, s.debug+"/debug/pprof/heap?gc=1") })
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

// Heap is what the server's heap and stacks hold after a collection, in MiB. Unlike the memory of the process it does not depend on
// when the collector ran.
func (s *Stack) Heap(ctx context.Context) (float64, error) {
	body, err := fetch(ctx, s.debug+"/debug/pprof/heap?gc=1&debug=1")
	if err != nil {
		return 0, err
	}
	total := 0.0
	for line := range strings.Lines(string(body)) {
		for _, name := range []string{"# HeapAlloc = ", "# Stack = "} {
			var bytes float64
			if rest, is := strings.CutPrefix(line, name); is {
				if _, err := fmt.Sscanf(rest, "%g", &bytes); err != nil {
					return 0, fmt.Errorf("read the heap: %w", err)
				}
				total += bytes / (1 << 20)
			}
		}
	}
	if total == 0 {
		return 0, errors.New("read the heap: it has no totals")
	}
	return total, nil
}
