package cloudevents

// outcome is what a batch has achieved.
type outcome struct {
	ids  []int64 // of the ranges that are done
	sent int64
	lost int64 // events of the ranges that are done and that could not be sent
}

// confirmed finds the ranges whose events the sink has. After one that it does not have, the later ranges of that run are
// sent again too, so that the last time each event arrives is in order.
func confirmed(ranges []Range, batch []*message) outcome {
	var found outcome
	waiting := map[int64]bool{}
	for _, r := range ranges {
		sent := int64(0)
		for len(batch) > 0 && batch[0].runID == r.RunID && batch[0].seq <= r.Last && batch[0].seq >= r.First {
			if batch[0].sent {
				sent++
			} else {
				waiting[r.RunID] = true
			}
			batch = batch[1:]
		}
		if waiting[r.RunID] {
			continue
		}
		found.ids = append(found.ids, r.ID)
		found.sent += sent
		found.lost += r.Last - r.First + 1 - sent
	}
	return found
}
