package sentence_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
)

func TestSentencesHaveParts(t *testing.T) {
	for name, tc := range map[string]struct {
		sentence      sentence.Sentence
		english, text string
		values        []string
		n             int64
	}{
		"plain":  {sentence.New("it is about to start"), "it is about to start", "it is about to start", []string{}, 0},
		"values": {sentence.New("run %s has %d of %q", "r", 2, "a b"), `run r has 2 of "a b"`, "run {1} has {2} of {3}", []string{"r", "2", `"a b"`}, 0},
		"order": {
			sentence.New("pool %[3]d in %[1]s/%[2]s", "p", "d", 7), "pool 7 in p/d", "pool {3} in {1}/{2}", []string{"p", "d", "7"}, 0,
		},
		"signs": {sentence.New("%.0f%% of ü: %v", 12.4, errors.New("bad")), "12% of ü: bad", "{1}% of ü: {2}", []string{"12", "bad"}, 0},
		"free":  {sentence.Free("0/3 nodes are available"), "0/3 nodes are available", "{1}", []string{"0/3 nodes are available"}, 0},
		"one": {
			sentence.Count(1, "one action is ahead in %s", "{n} actions are ahead in %s", "gpu"), "one action is ahead in gpu",
			"{n} actions are ahead in {1}", []string{"gpu"}, 1,
		},
		"many": {
			sentence.Count(3, "one action is ahead in %s", "{n} actions are ahead in %s", "gpu"), "3 actions are ahead in gpu",
			"{n} actions are ahead in {1}", []string{"gpu"}, 3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			parts := tc.sentence.Parts()
			require.Equal(t, tc.english, tc.sentence.String())
			require.Equal(t, tc.text, parts.GetText())
			require.Equal(t, tc.values, parts.GetValues())
			require.Equal(t, tc.n, parts.GetN())
		})
	}
}

func TestSentencesAreJoined(t *testing.T) {
	all := []sentence.Sentence{sentence.New("it waits"), sentence.Free("said so")}
	require.Equal(t, "it waits; said so", sentence.English(all...))
	require.Len(t, sentence.Parts(all...), 2)
}
