package ident

// AnnotationMirrorLimits on a run with the value "true" makes the limits of its tasks equal to their requests. Settings
// say so by it, since run specs have no field for it.
const AnnotationMirrorLimits = "flyte.org/mirror-limits-request"
