package taskactions

import (
	"context"
	"fmt"
	"slices"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
)

// pageSize is how many assignments one call fetches.
const pageSize = 100

// assignment returns the assignment of a live action; nil when the action is no longer live. If it is not kept, it is fetched, together with those
// that will be required next: one call for each would double what a large fan-out costs the database.
func (s *session) assignment(ctx context.Context, uid int64) (*enginev1.Assignment, error) {
	if a := s.desired.assignment(uid); a != nil {
		return a, nil
	}
	s.fetching.Lock()
	defer s.fetching.Unlock()
	if a := s.desired.assignment(uid); a != nil {
		return a, nil // another worker has fetched it meanwhile
	}
	page := s.desired.page(uid, pageSize)
	response, err := s.engine.GetAssignments(ctx, &enginev1.GetAssignmentsRequest{Uids: page, Cluster: s.clusterID})
	if err != nil {
		return nil, fmt.Errorf("get assignments: %w", err)
	}
	found := response.GetAssignments()
	s.desired.fetched(page, found)
	i := slices.IndexFunc(found, func(a *enginev1.Assignment) bool { return a.GetRef().GetUid() == uid })
	if i < 0 {
		return nil, nil //nolint:nilnil // it is no longer live
	}
	return found[i], nil
}
