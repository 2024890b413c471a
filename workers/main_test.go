package workers_test

import (
	"testing"

	"github.com/flyte-binary/flyte-binary/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.VerifyMain(m) }
