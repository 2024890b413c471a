package check

// Published is an event that a sink took.
type Published struct {
	ID, Action string
	Seq        int64
	Attempt    int32
	Phase      int32
	Version    int32
}

// eventsArePublished: the sink has every event of the log of each run, and without repetitions they came in the order of the
// log.
func eventsArePublished(e *Evidence, f *findings) {
	for i := range e.Runs {
		run := &e.Runs[i]
		taken := map[int64]Published{}
		next := int64(1)
		for _, event := range run.Published {
			if before, again := taken[event.Seq]; again {
				if before != event {
					f.add("run %s: the event %d was %+v and then %+v", run.Name, event.Seq, before, event)
				}
				continue
			}
			taken[event.Seq] = event
			if event.Seq != next {
				f.add("run %s: the event %d came when %d was next", run.Name, event.Seq, next)
			}
			next = max(next, event.Seq+1)
		}
		for _, event := range run.Events {
			got, ok := taken[event.Seq]
			delete(taken, event.Seq)
			row := run.byID(event.Action)
			switch {
			case !ok:
				f.add("run %s: the event %d was not published", run.Name, event.Seq)
			case row == nil || got.Action != row.Name || got.Attempt != event.Attempt || got.Phase != event.Phase || got.Version != event.Version:
				f.add("run %s: the event %d was published as %+v and is %+v", run.Name, event.Seq, got, event)
			}
		}
		for seq := range taken {
			f.add("run %s: the event %d was published and is not in the log", run.Name, seq)
		}
	}
}
