package leader

import (
	"errors"
	"net/http"

	"k8s.io/client-go/rest"
)

// errFenced refuses a write.
var errFenced = errors.New("this replica has not renewed its shards in time, so others may own them: nothing is written")

// Fenced is a copy of the configuration whose clients write only while this replica renews in time. Works stop by themselves when it
// does not, but a process that was frozen, or whose machine was, continues in the middle of whatever it did, before it can look at the
// time. Reads pass: informers and logs harm no one. What was on its way already when the process froze arrives late nevertheless, and
// is refused or without effect there, by names, versions and phases.
func (e *Election) Fenced(config *rest.Config) *rest.Config {
	fenced := rest.CopyConfig(config)
	fenced.Wrap(func(next http.RoundTripper) http.RoundTripper { return &fence{election: e, next: next} })
	return fenced
}

type fence struct {
	election *Election
	next     http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (f *fence) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet && f.election.left() <= 0 {
		if request.Body != nil {
			_ = request.Body.Close() // as the contract of RoundTrip asks
		}
		return nil, errFenced
	}
	return f.next.RoundTrip(request)
}
