package cloudevents_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
)

func TestMain(m *testing.M) {
	// A library of Google's starts it when it is linked.
	pgtest.VerifyMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}
