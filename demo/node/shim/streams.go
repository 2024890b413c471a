package shim

import (
	"os"
	"sync"
	"time"
)

// drainTimeout bounds the wait for the end of the output once every process is dead; a process out of reach might
// hold the pipe open.
const drainTimeout = 2 * time.Second

// streams are the container's standard output and error on their way to the log.
type streams struct {
	readers [2]*os.File
	writers [2]*os.File
	log     *logFile
	copies  sync.WaitGroup
}

func newStreams(log *logFile) (*streams, error) {
	s := &streams{log: log}
	for i := range s.readers {
		r, w, err := os.Pipe()
		if err != nil {
			s.abandon()
			return nil, err
		}
		s.readers[i], s.writers[i] = r, w
	}
	return s, nil
}

// abandon closes everything when there will be no process.
func (s *streams) abandon() {
	for i := range s.readers {
		if s.readers[i] != nil {
			_ = s.readers[i].Close()
			_ = s.writers[i].Close()
		}
	}
}

// giveTo lets processes of a user open their output by its name, such as /dev/stderr.
func (s *streams) giveTo(user User) error {
	for _, w := range s.writers {
		if err := w.Chown(int(user.UID), int(user.GID)); err != nil {
			return err
		}
	}
	return nil
}

// started leaves the writing ends to the process and starts to copy.
func (s *streams) started() {
	for i, name := range []string{"stdout", "stderr"} {
		_ = s.writers[i].Close()
		s.copies.Add(1)
		go func() {
			defer s.copies.Done()
			lines := &lineWriter{log: s.log, stream: name}
			buf := make([]byte, 32<<10)
			for {
				n, err := s.readers[i].Read(buf)
				lines.add(buf[:n])
				if err != nil {
					lines.end()
					return
				}
			}
		}()
	}
}

// drain waits until all output is in the log.
func (s *streams) drain() {
	deadline := time.Now().Add(drainTimeout)
	for _, r := range s.readers {
		_ = r.SetReadDeadline(deadline)
	}
	s.copies.Wait()
	for _, r := range s.readers {
		_ = r.Close()
	}
}
