package worker

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	workerv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1"
)

// drawn is what a program has drawn: from sources with a seed, and from those that have none.
type drawn struct {
	Seeded   map[string]any `json:"seeded"`
	Unseeded map[string]any `json:"unseeded"`
}

const sources = `
import json
import numpy as np
import flyte

class Model:
    def __init__(self, rng=np.random.RandomState()):
        self.rng = rng

def many():
    return [np.random.Generator(kind()) for kind in (np.random.MT19937, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64)]

# A file that names what is within a source may read it while it is loaded, so it is loaded by each attempt. Here only the task does.
bits, sequence = (lambda one: getattr(one, "bit_" + "generator")), (lambda one: getattr(one, "seed_" + "seq"))
plain, seeded, kinds, models = np.random.default_rng(), np.random.default_rng(7), many(), {"one": Model()}
env = flyte.TaskEnvironment(name="w")

@env.task
def draws() -> str:
    children = plain.spawn(2)
    again = np.random.default_rng(sequence(bits(plain)))
    told = {
        "plain": plain.random(), "child": children[1].random(), "entropy": str(sequence(bits(plain)).entropy),
        "state": models["one"].rng.rand(), "normal": models["one"].rng.normal(), "global": np.random.rand(), "new": np.random.default_rng().random(),
        **{type(bits(one)).__name__: one.integers(1 << 62).item() for one in kinds},
    }
    same = {"seeded": seeded.random(), "child": seeded.spawn(1)[0].random(), "from its seed": again.random() == told["plain"]}
    return json.dumps({"seeded": same, "unseeded": told})
`

// TestSourcesWithoutASeed: what an import makes without a seed draws other numbers in each attempt, and what it seeds draws the same.
func TestSourcesWithoutASeed(t *testing.T) {
	f := newFixture(t)
	compareDraws(t, f, f.bundle("tasks", sources))
}

const learning = `
import json
import pandas as pd
import scipy.stats
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.ensemble._hist_gradient_boosting.grower import TreeGrower
from sklearn.ensemble._hist_gradient_boosting.splitting import Splitter
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
import inspect
import numpy as np
import flyte

env = flyte.TaskEnvironment(name="w")

def tells(seed):
    frame = pd.DataFrame(np.random.default_rng(5).random((600, 8)))
    target = (frame[0] + np.random.default_rng(6).random(600) > 1).astype(int)
    forest = RandomForestClassifier(20, max_depth=4, n_jobs=2, random_state=seed).fit(frame, target)  # whose threads add in any order
    rows = np.random.default_rng(8).random((64, 8))
    return {
        "forest": forest.predict_proba(rows).round(9).tolist(),
        "boosted": HistGradientBoostingClassifier(max_iter=5, max_features=0.5, random_state=seed).fit(frame, target).predict_proba(rows).round(9).tolist(),
        "clusters": KMeans(4, n_init=1, max_iter=2, random_state=seed).fit(frame).cluster_centers_.round(9).tolist(),
        "samples": scipy.stats.norm.rvs(size=3, random_state=seed).tolist(),
        "distribution": scipy.stats.Normal(mu=0., sigma=1.).sample(3, rng=seed).tolist(),
    }

def default(function, name):
    return inspect.signature(function).parameters[name].default

@env.task
def draws() -> str:
    unseeded = tells(None)
    unseeded["grower"] = default(TreeGrower.__init__, "rng").random()
    same = tells(3)
    frame, target = np.random.default_rng(9).random((300, 6)), np.arange(300) % 2
    same["scores"] = cross_val_score(LogisticRegression(), frame, target, cv=3, n_jobs=2).round(12).tolist()
    product = np.random.default_rng(10).random((700, 700))
    same["product"] = float((product @ product).sum().round(3))
    return json.dumps({"seeded": same, "unseeded": unseeded})
`

// TestScikitLearnOnTheFastPath: a file with pandas and scikit-learn is loaded before the fork. Threads of OpenMP and OpenBLAS and processes of
// joblib work after it.
func TestScikitLearnOnTheFastPath(t *testing.T) {
	f := newFixture(t, withScikitLearn(t))
	compareDraws(t, f, f.bundle("tasks", learning))
}

// withScikitLearn is for a worker in the environment that make differential installs.
func withScikitLearn(t testing.TB) func(*Config) {
	t.Helper()
	dir, err := filepath.Abs("../../.cache/differential-python/bin")
	require.NoError(t, err)
	if _, err := os.Stat(filepath.Join(dir, "a0")); err != nil {
		t.Skip("no Python environment with scikit-learn: run `make differential` first")
	}
	return func(c *Config) { c.Environ = append(c.Environ, "PATH="+dir+":"+os.Getenv("PATH")) }
}

// compareDraws runs a program in forks of a process with its code and in interpreters of its own. What is seeded must be equal, and nothing
// else that is drawn.
func compareDraws(t *testing.T, f *fixture, code string) {
	t.Helper()
	var all []drawn
	for uid := int64(1); uid <= 5; uid++ {
		cold := uid > 3
		f.assign(uid, code, "tasks", "draws", func(a *workerv1.Assignment) {
			if cold { // another seed of hashes needs an interpreter of its own, as in a pod
				a.Env["PYTHONHASHSEED"] = "1"
			}
		})
		ended := f.ended(uid)
		require.Equal(t, workerv1.End_END_EXITED, ended.GetEnd(), "%s\n%s", ended.GetMessage(), f.log(uid))
		require.Equal(t, !cold, ended.GetWarm())
		if uid == 2 || uid == 3 { // the first may be the one that loads the code
			require.Empty(t, ended.GetSlowStart())
		}
		require.NotEmpty(t, f.outputs(uid)["o0"], f.log(uid))
		var one drawn
		require.NoError(t, json.Unmarshal([]byte(f.outputs(uid)["o0"]), &one))
		for _, other := range all {
			require.Equal(t, other.Seeded, one.Seeded)
			for name, value := range one.Unseeded {
				require.NotEqual(t, other.Unseeded[name], value, name)
			}
		}
		all = append(all, one)
	}
}
