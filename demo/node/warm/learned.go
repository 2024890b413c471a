package warm

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

//go:embed learned.py
var learnedProgram []byte

//go:embed effects.py
var effectsProgram []byte

//go:embed order.py
var orderProgram []byte

// Bounds of what a parent imports beyond the SDK.
const (
	learnedCount = 32               // packages
	learnedTime  = 15 * time.Second // of CPU for all, once to find their order and once to keep them
	learnedBytes = 512 << 20        // for all
	learnedTasks = 2                // that have to import a package before it is learned
	refusals     = 4                // in one renewal; more are tried in the next
)

// reportsDir is where the tasks of a program count what they import: a file for each module, with a byte for each task. It
// is all that is kept of what was learned: whatever is wrong with a file there costs an import at most.
func (p *Pool) reportsDir(of program) string {
	sum := sha256.Sum256([]byte(of.key()))
	return filepath.Join(p.cfg.Dir, "imports", hex.EncodeToString(sum[:12]))
}

// key tells programs apart.
func (p program) key() string {
	return strings.Join(append(append([]string{p.script}, p.interpreter...), p.env...), "\x00")
}

// reported are the packages that enough tasks have imported: shorter names first, for they bring the longer ones along.
func reported(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() && info.Size() >= learnedTasks {
			names = append(names, entry.Name())
		}
	}
	slices.SortFunc(names, func(one, other string) int {
		return cmp.Or(strings.Count(one, ".")-strings.Count(other, "."), strings.Compare(one, other))
	})
	return names[:min(len(names), learnedCount)]
}

// learn renews the parents whose tasks use packages that they have not imported. Meanwhile the old ones serve.
func (p *Pool) learn(ctx context.Context) {
	p.mu.Lock()
	members := make([]*member, 0, len(p.members))
	for _, m := range p.members {
		if closed(m.settled) && m.parent != nil && !m.parent.gone() {
			members = append(members, m)
		}
	}
	p.mu.Unlock()
	for _, m := range members {
		of := m.program
		of.learned = m.wanted(reported(of.reports))
		if len(of.learned) == 0 || slices.Equal(of.learned, m.learned) {
			continue
		}
		if next := p.renew(ctx, m, of); next != nil {
			p.replace(m, next)
		}
	}
}

// wanted are names without those that are unfit. Names below an unfit package are unfit too.
func (m *member) wanted(names []string) []string {
	return slices.DeleteFunc(names, func(name string) bool {
		for unfit := range m.unfit {
			if name == unfit || strings.HasPrefix(name, unfit+".") {
				return true
			}
		}
		return false
	})
}

// renew starts a parent that has learned, and leaves out what it refuses. nil means that the old one stays.
func (p *Pool) renew(ctx context.Context, m *member, of program) *parent {
	for range refusals {
		if len(of.learned) == 0 || ctx.Err() != nil {
			return nil
		}
		m.learned = slices.Clone(of.learned)
		one, err := p.ready(of, p.cfg.Ready)
		if err == nil {
			return one
		}
		var refused *refusal
		if !errors.As(err, &refused) {
			p.log.Warn().Err(err).Strs("packages", of.learned).Msg("updating the warm parent's packages failed; keeping the current parent")
			return nil
		}
		p.log.Info().Str("package", refused.name).Str("why", refused.why).Msg("package excluded from warm parents")
		m.unfit[refused.name] = struct{}{}
		of.learned = m.wanted(of.learned)
	}
	return nil
}

// replace puts a parent into the place of another, which ends when no one can be about to fork from it.
func (p *Pool) replace(m *member, next *parent) {
	p.mu.Lock()
	old := m.parent
	m.parent = next
	gone := p.members[m.program.key()] != m
	if !gone {
		p.retired = append(p.retired, retired{parent: old, since: p.clk.Now()})
	}
	p.mu.Unlock()
	if gone { // it was dropped meanwhile, with the old parent
		next.end()
		return
	}
	p.log.Info().Interface("packages", next.learned).Int("pid", next.cmd.Process.Pid).
		Msg("a warm parent has learned packages: seconds and bytes of each")
}

// retired is a parent that was replaced.
type retired struct {
	parent *parent
	since  time.Time
}

// endRetired ends the parents that were replaced long enough ago, or all.
func (p *Pool) endRetired(all bool) {
	p.mu.Lock()
	now := p.clk.Now()
	var over []retired
	p.retired = slices.DeleteFunc(p.retired, func(one retired) bool {
		if !all && now.Sub(one.since) < p.cfg.Fork {
			return false
		}
		over = append(over, one)
		return true
	})
	p.mu.Unlock()
	for _, one := range over {
		one.parent.end()
	}
}
