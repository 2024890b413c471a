package check

// maxPoints is how many points a curve has at most.
const maxPoints = 240

// curvesHold: what was measured belongs to an attempt that there is, in the order of time and within its bounds, whichever server
// died between two measurements.
func curvesHold(e *Evidence, f *findings) {
	for _, curve := range e.Curves {
		switch {
		case curve.Attempt < 1 || curve.Attempt > curve.Attempts:
			f.add("%s has a curve of attempt %d of %d", curve.Action, curve.Attempt, curve.Attempts)
		case len(curve.Points) == 0 || len(curve.Points) > maxPoints:
			f.add("%s attempt %d has a curve of %d points", curve.Action, curve.Attempt, len(curve.Points))
		}
		for i := 1; i < len(curve.Points); i++ {
			if !curve.Points[i].After(curve.Points[i-1]) {
				f.add("%s attempt %d has a point at %s after one at %s", curve.Action, curve.Attempt, curve.Points[i], curve.Points[i-1])
			}
		}
	}
}
