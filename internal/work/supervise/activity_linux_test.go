package supervise

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The work of what a program starts is its own: a database recovers in a child.
func TestActivityIsThatOfTheWholeTree(t *testing.T) {
	shell, err := exec.LookPath("sh")
	require.NoError(t, err)
	p, err := Start(Spec{Name: "test", Path: shell, Args: []string{"-c", "(while :; do :; done) & wait"}})
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = syscall.Kill(-p.Pid(), syscall.SIGKILL) // the whole group
		<-p.Done()
	})
	before, known := p.activity()
	require.True(t, known)
	require.Eventually(t, func() bool {
		now, _ := p.activity()
		return now.cpu > before.cpu+50*time.Millisecond
	}, time.Minute, 10*time.Millisecond)
}
