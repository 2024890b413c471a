package store

import "time"

const insertBacklog = `
	INSERT INTO event_backlog (sink, run_id, first_seq, last_seq, at)
	SELECT sink, u.run_id, u.first_seq, u.last_seq, $5
	FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS u (run_id, first_seq, last_seq), unnest($4::text[]) AS sink`

// backlogArguments are those of insertBacklog: for each run that changed the range of its new events.
func (b *batch) backlogArguments(sinks []string) []any {
	var ids, first, last []int64
	for _, run := range b.order {
		if n := len(run.events); n > 0 {
			ids, first, last = append(ids, run.root.ID), append(first, run.events[0].Seq), append(last, run.events[n-1].Seq)
		}
	}
	return []any{ids, first, last, sinks, b.now.Truncate(time.Microsecond)}
}
