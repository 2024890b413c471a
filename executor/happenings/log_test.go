package happenings_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/executor/happenings"
)

func warning(message string) happenings.Happening {
	return happenings.Happening{At: time.Unix(1, 0), Reason: "BackOff", Message: message, Source: "kubelet", Warning: true}
}

func TestEachHappeningIsToldOnce(t *testing.T) {
	var log happenings.Log
	require.True(t, log.Add(1, warning("a")))
	require.False(t, log.Add(1, warning("a")), "again")
	require.False(t, log.Add(1, happenings.Happening{Reason: "Pulling", Message: "b"}), "no warning")
	require.True(t, log.Urgent(1))
	news, mark := log.News(1)
	require.Len(t, news, 2)
	require.EqualValues(t, 2, news[0].Count)
	require.True(t, log.Add(1, warning("while the report is in flight")))
	log.Told(1, mark)
	news, mark = log.News(1)
	require.Len(t, news, 1)
	log.Told(1, mark)
	news, _ = log.News(1)
	require.Empty(t, news)
	require.False(t, log.Urgent(1))
	require.True(t, log.Has(1, "a"))
}

func TestALostReportIsRepeated(t *testing.T) {
	var log happenings.Log
	log.Add(1, warning("a"))
	first, _ := log.News(1)
	again, _ := log.News(1)
	require.Equal(t, first, again)
	require.False(t, log.Has(1, "a"), "nobody has it yet")
}

func TestTheExactWordsOfARecordedHappening(t *testing.T) {
	var log happenings.Log
	log.Add(1, warning("the job is failed"))
	require.False(t, log.HasExactly(1, "the job is failed"), "not recorded")
	_, mark := log.News(1)
	log.Told(1, mark)
	require.True(t, log.HasExactly(1, "the job is failed"))
	require.False(t, log.HasExactly(1, "the job is failed because of its worker"), "it says more")
	require.False(t, log.HasExactly(2, "the job is failed"))
}

func TestWhatAStateSaysIsNotSaidAgain(t *testing.T) {
	var log happenings.Log
	log.Mention(1, "0/3 nodes are available: 3 Insufficient cpu.")
	require.False(t, log.Add(1, warning("0/3 nodes are available: 3 Insufficient cpu.")))
	log.Mention(1, "the image is not mapped")
	require.False(t, log.Add(1, warning("Container main: the image is not mapped")))
	log.Mention(1, "")
	require.True(t, log.Add(1, warning("other")))
	news, _ := log.News(1)
	require.Len(t, news, 1)
	require.Equal(t, "other", news[0].Message)
}

func TestALogIsBoundedAndOfOneAttempt(t *testing.T) {
	var log happenings.Log
	for i := range 1000 {
		log.Add(1, warning(fmt.Sprintf("message %04d", i)))
		log.Mention(1, fmt.Sprintf("state %04d", i))
	}
	news, mark := log.News(1)
	require.Len(t, news, 50)
	require.True(t, log.Add(2, warning("of the next attempt")))
	log.Told(1, mark) // the answer to the report of the attempt before
	news, _ = log.News(2)
	require.Len(t, news, 1)
	require.False(t, log.Add(1, warning("late")))
	news, _ = log.News(1)
	require.Empty(t, news)
}
