package podlog

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// pollInterval is how often a followed log is read.
const pollInterval = 50 * time.Millisecond

// older is the suffix of a rotated log.
func older(path string) string { return path + ".1" }

// Copy writes a container's log to w. done is closed when the log is complete; when following, Copy ends once
// everything is written after that. It calls flush, which may be nil, whenever it would wait.
func Copy(
	ctx context.Context, w io.Writer, path string, o Options, done <-chan struct{}, clk clock.Clock, flush func(),
) error {
	out := &printer{w: w, options: o, left: o.Limit, lineStart: true}
	skip, err := skipped(path, o)
	if err != nil {
		return err
	}
	out.skip = skip
	if o.Tail == 0 {
		out.skip = -1 // skips what is there now; follow resets it
	}
	if file, err := os.Open(older(path)); err == nil {
		_, err = drain(file, out, nil)
		if err := errors.Join(err, file.Close()); err != nil {
			return ended(err)
		}
	}
	return ended(follow(ctx, path, out, o, done, clk, flush))
}

// errLimit ends a copy at its byte limit.
var errLimit = errors.New("enough")

// ended makes the limit an orderly end.
func ended(err error) error {
	if errors.Is(err, errLimit) {
		return nil
	}
	return err
}

func follow(
	ctx context.Context, path string, out *printer, o Options, done <-chan struct{}, clk clock.Clock, flush func(),
) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	timer := clk.NewTimer(pollInterval)
	defer timer.Stop()
	var rest []byte
	for first := true; ; first = false {
		// Asked before the read: what was written until the container ended is read then.
		complete := closed(done)
		rest, err = drain(file, out, rest)
		if err != nil {
			return err
		}
		if first && out.skip < 0 {
			out.skip = 0
		}
		if turned, err := turnedOver(path, file); err == nil && turned {
			next, err := os.Open(path)
			if err != nil {
				return err
			}
			rest, err = drain(file, out, rest) // what was written between the end and the rotation
			_ = file.Close()
			file = next
			if err != nil {
				return err
			}
			continue
		}
		if flush != nil {
			flush()
		}
		if complete || !o.Follow {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-done:
		case <-timer.C():
			timer.Reset(pollInterval)
		}
	}
}

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// turnedOver reports whether the log was rotated.
func turnedOver(path string, file *os.File) (bool, error) {
	mine, err := file.Stat()
	if err != nil {
		return false, err
	}
	now, err := os.Stat(path)
	if err != nil {
		return false, err // during the rotation, or the pod was removed
	}
	return !os.SameFile(mine, now), nil
}

// skipped is the number of wanted lines before the tail that is asked for.
func skipped(path string, o Options) (int64, error) {
	if o.Tail <= 0 {
		return 0, nil
	}
	counter := &printer{options: o, lineStart: true}
	for _, name := range []string{older(path), path} {
		file, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		_, err = drain(file, counter, nil)
		if err := errors.Join(err, file.Close()); err != nil {
			return 0, err
		}
	}
	if !counter.lineStart {
		counter.lines++ // the last line has not ended yet
	}
	return max(0, counter.lines-o.Tail), nil
}
