package podlog

import (
	"bytes"
	"io"

	"github.com/flyte-binary/flyte-binary/internal/text/clip"
)

// printer writes entries in the requested form. Without w it only counts lines.
type printer struct {
	w         io.Writer
	options   Options
	left      int64 // bytes that may still be written, if there is a limit
	skip      int64 // lines to leave out at the beginning, negative for all
	lines     int64 // whole lines so far
	lineStart bool
	buf       []byte
}

func (p *printer) print(e entry) error {
	if !p.options.wanted(e) {
		return nil
	}
	skip := p.skip != 0
	if e.whole {
		p.lines++
		if p.skip > 0 {
			p.skip--
		}
	}
	atStart := p.lineStart
	p.lineStart = e.whole
	if skip || p.w == nil {
		return nil
	}
	p.buf = p.buf[:0]
	if p.options.Timestamps && atStart && len(e.stamp) > 0 {
		p.buf = append(append(p.buf, e.stamp...), ' ')
	}
	p.buf = append(p.buf, e.text...)
	if e.whole {
		p.buf = append(p.buf, '\n')
	}
	return p.give(p.buf)
}

// give writes within the limit, and cuts the last text between two characters.
func (p *printer) give(text []byte) error {
	limited := p.options.Limit > 0
	full := limited && int64(len(text)) >= p.left
	if full && int64(len(text)) > p.left {
		text = text[:clip.Whole(text[:p.left])]
	}
	n, err := p.w.Write(text)
	p.left -= int64(n)
	if err != nil {
		return err
	}
	if full {
		return errLimit
	}
	return nil
}

// drain prints what can be read. rest is the beginning of an entry that was not complete; the new one is returned.
func drain(r io.Reader, p *printer, rest []byte) ([]byte, error) {
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		data := buf[:n]
		if len(rest) > 0 {
			data = append(rest, data...)
		}
		for {
			line, after, ok := bytes.Cut(data, []byte{'\n'})
			if !ok {
				break
			}
			if err := p.print(parse(line)); err != nil {
				return nil, err
			}
			data = after
		}
		rest = append([]byte(nil), data...)
		if err == io.EOF {
			return rest, nil
		}
		if err != nil {
			return rest, err
		}
	}
}
