package queries_test

import (
	"testing"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
)

func TestMain(m *testing.M) { pgtest.VerifyMain(m) }
