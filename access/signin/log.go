package signin

import "github.com/rs/zerolog"

// warn begins a line of the log about what a browser sent. Anyone can open the pages, so there are only some lines of each kind a minute.
func (p *Pages) warn(kind string) *zerolog.Event { return p.line(zerolog.WarnLevel, kind) }

// fail begins a line of the log about what does not work.
func (p *Pages) fail(kind string) *zerolog.Event { return p.line(zerolog.ErrorLevel, kind) }

// line is nil, which writes nothing, beyond the limit.
func (p *Pages) line(level zerolog.Level, kind string) *zerolog.Event {
	suppressed, ok := p.lines.Allow(kind)
	if !ok {
		return nil
	}
	event := p.Log.WithLevel(level)
	if suppressed > 0 {
		event = event.Int("suppressed", suppressed)
	}
	return event
}
