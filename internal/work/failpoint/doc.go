// Package failpoint names the places in the code where a process may die or a stream may hang, so that the fault suite can
// cause that just there. It stands at the bottom of the tree. In released programs its functions are empty and are compiled
// away; only a build with the tag failpoints looks at the files that FLYTE_FAILPOINTS and FLYTE_STREAMS_HANG name.
package failpoint
