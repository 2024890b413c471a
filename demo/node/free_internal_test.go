package node

import (
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Removing the empty parents of an ended attempt met the next attempt of the action between two of its directories.
func TestAnAttemptStartsWhileTheLastOneIsFreed(t *testing.T) {
	n := &Node{cfg: Config{DataDir: filepath.Join(t.TempDir(), "node")}}
	var all sync.WaitGroup
	for i := range 4 {
		dir := filepath.Join(n.cfg.DataDir, "work", "p", "d", "r", "n4", strconv.Itoa(i))
		all.Go(func() {
			for range 2000 {
				require.NoError(t, n.makeAll(dir))
				n.removeEmpty(dir)
			}
		})
	}
	all.Wait()
	require.NoDirExists(t, filepath.Join(n.cfg.DataDir, "work", "p"), "what is empty is gone")
}
