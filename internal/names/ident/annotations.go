package ident

// ReservedKeys begins the keys of labels and annotations that belong to the platform. Users set those with a meaning alone.
const ReservedKeys = "flyte.org/"

// LabelPriority on a run puts it before others, or behind them, in its queue: an integer from -100 to 100.
const LabelPriority = ReservedKeys + "priority"

// AnnotationTrigger begins the annotations of a run spec that are options of the trigger that has it.
const AnnotationTrigger = ReservedKeys + "trigger-"

// AnnotationServiceAccount on a run is the service account that settings name for it. Only settings can set it: its value in
// a request is ignored.
const AnnotationServiceAccount = ReservedKeys + "settings-service-account"

// AnnotationStores on a run has the prefixes of the stores that what its inputs point to is in, separated by spaces, as far as not all
// clusters reach them. Its value in a request is ignored.
const AnnotationStores = ReservedKeys + "stores"

// AnnotationMirrorLimits on a run with the value "true" makes the limits of its tasks equal to their requests. Settings
// say so by it, since run specs have no field for it.
const AnnotationMirrorLimits = ReservedKeys + "mirror-limits-request"
