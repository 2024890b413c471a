package backlog

import "context"

// Use is a limit, and how much of it is used.
type Use struct {
	Things  string // what is counted, such as unfinished actions
	Project string // whose limit it is; empty for that of a caller
	Setting string
	// Most is the limit; 0 means none.
	Most int
	// Used is how many there are, at most Most; 0 without a limit.
	Used int
}

// Uses are the limits of a caller, unless it is empty, and those of a project, unless it is empty. What is under way is
// counted at most once a second.
func (b *Backlog) Uses(ctx context.Context, project, caller string) (uses []Use, err error) {
	if caller != "" {
		if uses, err = b.uses(ctx, owner{caller: caller}); err != nil {
			return nil, err
		}
	}
	if project == "" {
		return uses, nil
	}
	more, err := b.uses(ctx, owner{project: project})
	return append(uses, more...), err
}

func (b *Backlog) uses(ctx context.Context, who owner) ([]Use, error) {
	c := &count{}
	if b.limited(who) {
		c = b.of(who)
		c.mu.Lock()
		defer c.mu.Unlock()
		if b.clock.Now().Sub(c.at) >= recount {
			if err := b.count(ctx, who, c); err != nil {
				return nil, err
			}
		}
	}
	var uses []Use
	for _, limit := range b.limits(who) {
		use := Use{Things: limit.things, Project: who.project, Setting: limit.setting, Most: limit.most}
		if limit.most > 0 {
			use.Used = min(limit.most, limit.under(c.counted)+c.created)
		}
		uses = append(uses, use)
	}
	return uses, nil
}
