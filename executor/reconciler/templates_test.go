package reconciler

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

func TestActionsWithTheSameTemplateShareOne(t *testing.T) {
	all := newTemplates()
	body, err := proto.Marshal(&core.TaskTemplate{Type: "python"})
	require.NoError(t, err)
	first, err := all.decode(body)
	require.NoError(t, err)
	second, err := all.decode(body)
	require.NoError(t, err)
	require.Same(t, first, second)
	require.Equal(t, "python", first.GetType())

	body, err = proto.Marshal(&core.TaskTemplate{Type: "raw"})
	require.NoError(t, err)
	other, err := all.decode(body)
	require.NoError(t, err)
	require.Equal(t, "raw", other.GetType())

	_, err = all.decode([]byte("no template"))
	require.Error(t, err)
	require.Equal(t, 2, all.size())
	runtime.KeepAlive(first)
	runtime.KeepAlive(other)
}

func TestATemplateThatNobodyHasIsDropped(t *testing.T) {
	all := newTemplates()
	_, err := all.decode(nil)
	require.NoError(t, err)
	require.Eventually(t, func() bool { runtime.GC(); return all.size() == 0 }, 20*time.Second, time.Millisecond)
	again, err := all.decode(nil)
	require.NoError(t, err)
	require.NotNil(t, again)
}

func (t *templates) size() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.shared)
}
