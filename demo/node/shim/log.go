package shim

import (
	"os"
	"sync"
	"time"
)

// maxLine is how much of one line is kept together; longer lines are cut into parts, as container runtimes do.
const maxLine = 16 << 10

// maxBatch is about how much is written at once.
const maxBatch = 64 << 10

// timeLayout has a fixed width, so that times compare as text.
const timeLayout = "2006-01-02T15:04:05.000000000Z07:00"

// logFile appends lines `<time> <stdout|stderr> <F|P> <text>`, F for a whole line and P for a part that continues in the
// next entry of the same stream. A full disk loses lines; it does not block the container.
type logFile struct {
	mu   sync.Mutex
	path string
	max  int64
	file *os.File // GUARDED_BY(mu); nil after a failed rotation
	size int64    // GUARDED_BY(mu)
}

func openLog(path string, limit int64) (*logFile, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return &logFile{path: path, max: limit, file: file, size: info.Size()}, nil
}

// write appends entries that are already in the file's form.
func (l *logFile) write(entries []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.max > 0 && l.size+int64(len(entries)) > l.max && l.size > 0 {
		l.turnOver()
	}
	if l.file == nil {
		return
	}
	n, _ := l.file.Write(entries)
	l.size += int64(n)
}

// turnOver renames the full file to <path>.1, replacing an older one, and starts a new file.
func (l *logFile) turnOver() {
	if l.file != nil {
		_ = l.file.Close()
	}
	_ = os.Rename(l.path, l.path+".1")
	l.size = 0
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		file = nil
	}
	l.file = file
}

// note writes lines that are not from the container, in the stream of its errors.
func (l *logFile) note(text string) {
	lines := &lineWriter{log: l, stream: "stderr"}
	lines.add([]byte(text))
	lines.end()
}

func (l *logFile) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		_ = l.file.Close()
	}
}

// lineWriter turns one stream into entries.
type lineWriter struct {
	log    *logFile
	stream string
	rest   []byte // the line that has not ended yet
	out    []byte
}

// add takes what was read.
func (w *lineWriter) add(chunk []byte) {
	now := time.Now().UTC()
	w.out = w.out[:0]
	for _, b := range chunk {
		if len(w.out) >= maxBatch {
			w.log.write(w.out)
			w.out = w.out[:0]
		}
		if b == '\n' {
			w.entry(now, 'F')
			continue
		}
		w.rest = append(w.rest, b)
		if len(w.rest) == maxLine {
			w.entry(now, 'P')
		}
	}
	if len(w.out) > 0 {
		w.log.write(w.out)
	}
}

// end writes a last line that has no newline, as a whole one: the other stream may still continue.
func (w *lineWriter) end() {
	if len(w.rest) == 0 {
		return
	}
	w.out = w.out[:0]
	w.entry(time.Now().UTC(), 'F')
	w.log.write(w.out)
}

func (w *lineWriter) entry(now time.Time, tag byte) {
	w.out = now.AppendFormat(w.out, timeLayout)
	w.out = append(w.out, ' ')
	w.out = append(w.out, w.stream...)
	w.out = append(w.out, ' ', tag, ' ')
	w.out = append(w.out, w.rest...)
	w.out = append(w.out, '\n')
	w.rest = w.rest[:0]
}
