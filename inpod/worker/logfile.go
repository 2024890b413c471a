package worker

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/text/clip"
)

const (
	// longest is where a line of a log is cut, in bytes, or up to three bytes before: never inside a character.
	longest = 128 << 10
	// logLimit is how much of a log is kept, in bytes: as much as of a pod's. Later lines are dropped; the attempt does
	// not block on them.
	logLimit = 256 << 20
	// uploadEvery is how often a log that grows is uploaded. A large one waits until it has grown by a quarter.
	uploadEvery = 3 * time.Second
	// uploadLimit bounds the last upload before the end of the attempt is reported.
	uploadLimit = 10 * time.Second
	// drain is how long the lines of an ended attempt are awaited that something else holds back.
	drainLimit = time.Second
)

// Store is where logs are kept.
type Store interface {
	NewWriter(ctx context.Context, uri string) (io.WriteCloser, error)
}

// logFile gets the lines of one attempt and keeps them in the object store, as a sealed log.
type logFile struct {
	store Store
	uri   string
	pipe  *os.File // the end of the attempt; nil once it was handed over
	read  *os.File
	file  *os.File
	ended chan struct{} // closed when the last writer is gone

	mu       sync.Mutex
	size     int64 // GUARDED_BY(mu): bytes in the file
	uploaded int64 // only used by one goroutine at a time
}

// openLog makes the log of an attempt. Without a store or a place its lines are read and dropped.
func openLog(store Store, uri, scratch string) (*logFile, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	l := &logFile{store: store, uri: uri, pipe: write, read: read, ended: make(chan struct{})}
	if store != nil && uri != "" {
		if l.file, err = os.CreateTemp(scratch, "log-"); err != nil {
			return nil, errors.Join(err, read.Close(), write.Close())
		}
		_ = os.Remove(l.file.Name()) // it lives as long as it is open
	}
	go l.collect()
	return l, nil
}

// handedOver closes the end that the attempt has got.
func (l *logFile) handedOver() { _ = l.pipe.Close() }

// collect copies lines with the time at which they came.
func (l *logFile) collect() {
	defer close(l.ended)
	reader := bufio.NewReaderSize(l.read, longest)
	var line, rest []byte // rest is the beginning of a character whose other bytes come next
	for {
		text, err := reader.ReadSlice('\n')
		if len(rest)+len(text) > 0 {
			line = append(time.Now().UTC().AppendFormat(line[:0], time.RFC3339Nano), ' ')
			line = append(append(line, rest...), text...)
			rest = rest[:0]
			if errors.Is(err, bufio.ErrBufferFull) {
				whole := clip.Whole(line)
				rest = append(rest, line[whole:]...)
				line = line[:whole]
			}
			if line[len(line)-1] != '\n' {
				line = append(line, '\n')
			}
			l.append(line)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// append adds a line, unless the log is full. An error of the disk loses the line: an attempt must not fail for its
// log.
func (l *logFile) append(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil || l.size+int64(len(line)) > logLimit {
		return
	}
	n, _ := l.file.Write(line)
	l.size += int64(n)
}

// note adds a line of the worker.
func (l *logFile) note(text string) {
	l.append([]byte(time.Now().UTC().Format(time.RFC3339Nano) + " [worker] " + text + "\n"))
}

// follow uploads the log while the attempt runs, until the context ends.
func (l *logFile) follow(ctx context.Context) {
	ticker := time.NewTicker(uploadEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if size := l.length(); size-l.uploaded > l.uploaded/4 {
				_ = l.upload(ctx) // the next one may succeed
			}
		}
	}
}

func (l *logFile) length() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.size
}

// finish waits for the last lines and uploads all. follow must have returned.
func (l *logFile) finish(ctx context.Context) error {
	timer := time.NewTimer(drainLimit)
	defer timer.Stop()
	select {
	case <-l.ended:
	case <-timer.C: // a process that left the attempt has its output
		_ = l.read.SetReadDeadline(time.Now())
		<-l.ended
	}
	defer func() {
		_ = l.read.Close()
		if l.file != nil {
			_ = l.file.Close()
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, uploadLimit)
	defer cancel()
	return l.upload(ctx)
}

// upload writes the log as one object, which replaces the one before. Object stores cannot append, which is why a large
// log is uploaded less often.
func (l *logFile) upload(ctx context.Context) error {
	if l.file == nil {
		return nil
	}
	size := l.length()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // before Close it discards the object
	writer, err := l.store.NewWriter(ctx, l.uri)
	if err != nil {
		return err
	}
	if _, err := io.Copy(writer, io.NewSectionReader(l.file, 0, size)); err != nil {
		cancel()
		return errors.Join(err, writer.Close())
	}
	if err := writer.Close(); err != nil {
		return err
	}
	l.uploaded = size
	return nil
}
