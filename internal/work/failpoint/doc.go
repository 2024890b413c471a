// Package failpoint names the places in the code where a process may die, so that the fault suite can make it die just
// there. It stands at the bottom of the tree. In released programs its functions are empty and are compiled
// away; only a build with the tag failpoints looks at the file that FLYTE_FAILPOINTS names.
package failpoint
