package imagebuild

// fenced is replaced below.
func (w *worker) fenced(t tool) tool { return t }
