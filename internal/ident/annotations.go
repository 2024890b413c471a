package ident

// AnnotationServiceAccount on a run is the service account that settings name for it. Only settings can set it: its value in
// a request is ignored.
const AnnotationServiceAccount = "flyte.org/settings-service-account"

// AnnotationMirrorLimits on a run with the value "true" makes the limits of its tasks equal to their requests. Settings
// say so by it, since run specs have no field for it.
const AnnotationMirrorLimits = "flyte.org/mirror-limits-request"
