package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

const (
	// profileAfter skips the set-up of a case.
	profileAfter = time.Second
	profileFor   = 15 * time.Second
)

// profile records the server's CPU during a case and its heap at the end, when a directory is given. The function that
// it returns waits for that.
func (s *stack) profile(ctx context.Context, dir, name string) func() {
	if dir == "" {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if pause(ctx, profileAfter) == nil {
			s.save(ctx, fmt.Sprintf("/profile?seconds=%d", profileFor/time.Second), filepath.Join(dir, name+".cpu"))
		}
	}()
	return func() {
		<-done
		s.save(ctx, "/heap", filepath.Join(dir, name+".heap"))
	}
}

// save writes a profile to a file. A failure is only told: the figures do not depend on it.
func (s *stack) save(ctx context.Context, path, file string) {
	if err := s.fetch(ctx, s.debug+path, file); err != nil {
		fmt.Fprintln(os.Stderr, "profile:", err)
	}
}

func (s *stack) fetch(ctx context.Context, url, file string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer out.Close()
	_, err = io.Copy(out, response.Body)
	return err
}
