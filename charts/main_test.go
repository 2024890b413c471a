package charts_test

import (
	"os"
	"testing"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
